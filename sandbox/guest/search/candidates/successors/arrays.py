"""NumPy and pandas, from their release notes."""

from __future__ import annotations

from sandbox.guest.search.candidates.successors.notation import Renames, Rewrite, table

RENAMES = Renames(
    modules=table("""
numpy.core -> numpy._core
numpy.core.numeric -> numpy
numpy.core.multiarray -> numpy._core.multiarray
numpy.lib.function_base -> numpy
numpy.testing.utils numpy.testing.decorators -> numpy.testing
pandas.util.testing -> pandas.testing | pandas._testing
pandas.io.json -> pandas
pandas.tools.plotting -> pandas.plotting
pandas.core.common -> pandas.api.types
"""),
    names=table("""
numpy.float numpy.float_ -> float | numpy.float64
numpy.int numpy.long -> int
numpy.bool -> bool
numpy.bool8 -> numpy.bool_
numpy.object -> object
numpy.object0 -> numpy.object_
numpy.str numpy.unicode -> str
numpy.complex -> complex
numpy.complex_ numpy.cfloat -> numpy.complex128
numpy.unicode_ numpy.str0 -> numpy.str_
numpy.string_ numpy.bytes0 -> numpy.bytes_
numpy.int0 -> numpy.intp
numpy.uint0 -> numpy.uintp
numpy.void0 -> numpy.void
numpy.singlecomplex -> numpy.complex64
numpy.longfloat -> numpy.longdouble
numpy.longcomplex numpy.clongfloat -> numpy.clongdouble
numpy.NaN numpy.NAN -> numpy.nan
numpy.Inf numpy.Infinity numpy.PINF numpy.infty -> numpy.inf
numpy.NINF -> -numpy.inf
numpy.NZERO -> -0.0
numpy.PZERO -> 0.0
numpy.product -> numpy.prod
numpy.cumproduct -> numpy.cumprod
numpy.sometrue -> numpy.any
numpy.alltrue -> numpy.all
numpy.in1d -> numpy.isin
numpy.row_stack -> numpy.vstack
numpy.trapz -> numpy.trapezoid
numpy.trapezoid -> numpy.trapz
numpy.msort -> numpy.sort
numpy.round_ -> numpy.round
numpy.asfarray -> numpy.asarray
numpy.alen -> len
numpy.rank -> numpy.ndim
numpy.find_common_type -> numpy.result_type | numpy.promote_types
numpy.mat -> numpy.asmatrix
numpy.issubclass_ -> issubclass
numpy.sctype2char -> numpy.dtype
numpy.safe_eval -> ast.literal_eval
numpy.byte_bounds -> numpy.lib.array_utils.byte_bounds
numpy.random.random_integers -> numpy.random.randint
numpy.VisibleDeprecationWarning -> numpy.exceptions.VisibleDeprecationWarning
numpy.AxisError -> numpy.exceptions.AxisError
numpy.ComplexWarning -> numpy.exceptions.ComplexWarning
numpy.RankWarning -> numpy.exceptions.RankWarning
numpy.DTypeTypeError -> numpy.exceptions.DTypePromotionError
numpy.warnings -> warnings
numpy.math -> math
numpy.cast -> numpy.asarray
numpy.deprecate -> warnings.deprecated
numpy.disp -> print
numpy.testing.dec -> pytest.mark
pandas.io.json.json_normalize -> pandas.json_normalize
pandas.Int64Index pandas.UInt64Index pandas.Float64Index pandas.NumericIndex -> pandas.Index
pandas.TimeGrouper -> pandas.Grouper
pandas.datetime -> datetime.datetime
pandas.np -> numpy
pandas.Panel -> pandas.DataFrame
pandas.rolling_mean -> pandas.Series.rolling
pandas.tslib.Timestamp pandas.Timestamp.Timestamp -> pandas.Timestamp
pandas.scatter_matrix -> pandas.plotting.scatter_matrix
pandas.core.indexes.base.InvalidIndexError -> pandas.errors.InvalidIndexError
pandas.core.common.SettingWithCopyWarning -> pandas.errors.SettingWithCopyWarning
pandas.util.testing.assert_frame_equal -> pandas.testing.assert_frame_equal
pandas.util.testing.assert_series_equal -> pandas.testing.assert_series_equal
pandas.errors.AbstractMethodError -> NotImplementedError
pandas.value_counts -> pandas.Series.value_counts
"""),
    attributes=table("""
append -> _append | concat
ix -> loc | iloc
as_matrix -> to_numpy
get_values -> to_numpy
get_value -> at
applymap -> map
is_monotonic -> is_monotonic_increasing
weekofyear week -> isocalendar
hide_index -> hide
pad -> ffill
backfill -> bfill
product -> prod
itemset -> put
"""),
    keywords=table("""
line_terminator -> lineterminator
error_bad_lines warn_bad_lines -> on_bad_lines
squeeze mangle_dupe_cols convert_unicode ->
"""),
    rewrites=(
        Rewrite("append", "pd.concat([{value}, {args}])", "import pandas as pd"),
        Rewrite("append", "pandas.concat([{value}, {args}])", "import pandas"),
        Rewrite("ptp", "np.ptp({value})", "import numpy as np"),
        Rewrite("weekofyear", "{value}.isocalendar().week"),
        Rewrite("week", "{value}.isocalendar().week"),
        Rewrite("iterrows", "{value}.itertuples()"),
        Rewrite("asscalar", "{args}.item()"),
        Rewrite("itemset", "{value}[...] = {args}"),
    ),
)
"""Renamed, moved and removed names."""
