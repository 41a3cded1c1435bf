# Nothing for Python code: see cython_special.pxd.
