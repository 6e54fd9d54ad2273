"""The functions of `lax`: one primitive each, or little more, without implicit promotion.

Each module says in its `__all__` what it offers.
"""

from .. import plans as _plans
from .associative_scan import *
from .bits import *
from .bounded_loops import *
from .collectives import *
from .conditionals import *
from .conversion import *
from .cumulative import *
from .custom_solves import *
from .elementwise import *
from .indexing import *
from .loops import *
from .options import *
from .reductions import *
from .scan import *
from .sorting import *
from .special import *
from .structure import *

assert _plans  # eager calls of these functions run as plans
