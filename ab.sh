. /tmp/w/families-scratch/env.sh
P=/tmp/w/families-scratch/prof.py
for v in "table_cluster gatedgcn 32" "table_zinc egt 128"; do
echo base; python $P $v time 2
echo malloc; MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=100000000000 python $P $v time 2
echo thp; THP_MEM_ALLOC_ENABLE=1 python $P $v time 2
echo both; THP_MEM_ALLOC_ENABLE=1  MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=100000000000 python $P $v time 2
done
