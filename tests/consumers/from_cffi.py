"""The C interface through cffi: the header is read as it is, without its preprocessor lines."""

import re
from pathlib import Path

import cffi

import renyi

text = (Path(renyi.get_include()) / "renyi.h").read_text()
text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
text = re.sub(r'^(#.*|extern "C" \{|\})$', "", text, flags=re.M)
text = re.sub(r"\bRENYI_(API|NOEXCEPT)\b", "", text)
ffi = cffi.FFI()
ffi.cdef(text)
library = ffi.dlopen(renyi.get_library())

answers = ffi.new("renyi_bracket[1]")
steps = ffi.new("renyi_step[]", [(0.01, 1.0, 1000.0), (1.0, 8.0, 3.0)])
status = library.renyi_epsilon(steps, 2, ffi.new("double[]", [1e-5]), 1, answers)
assert status == library.RENYI_OK, ffi.string(library.renyi_status_text(status))
print(answers[0].lower.hex(), answers[0].upper.hex())
