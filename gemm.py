import torch,time
torch.set_num_threads(1)
def rate(m,k,n,reps=200):
    a=torch.randn(m,k); b=torch.randn(n,k); o=torch.empty(m,n); bias=torch.randn(n)
    for f,name in ((lambda: torch.mm(a,b.T,out=o),"mm"),(lambda: torch.addmm(bias,a,b.T,out=o),"addmm")):
        f(); t=time.process_time()
        for _ in range(reps): f()
        t=(time.process_time()-t)/reps
        print(m,k,n,name,f"{t*1e6:.0f} us {2*m*k*n/t/1e9:.1f} GF/s")
for m in (256,512,1024,2048,8192): rate(m,64,128)
rate(2048,128,64); rate(2048,64,16); rate(137000,78,78,5); rate(2048,78,78); rate(512,78,78)
g=torch.randn(2048,128); x=torch.randn(2048,64); o=torch.zeros(128,64)
t=time.process_time()
for _ in range(200): o.addmm_(g.T,x)
t=(time.process_time()-t)/200; print("wgrad", t*1e6, 2*2048*128*64/t/1e9)
x=torch.randn(2048,128)
t=time.process_time()
for _ in range(200): torch.nn.functional.elu(x)
t=(time.process_time()-t)/200; print("elu ns/elem", t*1e9/x.numel())
x=torch.randn(137000*78)
t=time.process_time()
for _ in range(5): y=x+1; del y
t=(time.process_time()-t)/5; print("fresh add ms", t*1e3)
y=torch.empty_like(x); y.zero_()
t=time.process_time()
for _ in range(5): torch.add(x,1,out=y)
t=(time.process_time()-t)/5; print("reused add ms", t*1e3)
