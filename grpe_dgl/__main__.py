"""``python -m grpe_dgl`` is the ``grpe`` command (``torchrun -m grpe_dgl train ...``)."""

from grpe_dgl_cli.main import main

if __name__ == "__main__":
    main()
