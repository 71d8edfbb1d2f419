"""SciPy, scikit-learn, NetworkX, Matplotlib and Pillow, from their change logs."""

from __future__ import annotations

from sandbox.guest.search.candidates.successors.notation import Renames, table

RENAMES = Renames(
    modules=table("""
sklearn.externals.joblib -> joblib
sklearn.externals.six -> six
sklearn.cross_validation sklearn.grid_search sklearn.learning_curve -> sklearn.model_selection
sklearn.utils.testing -> sklearn.utils._testing
sklearn.metrics.scorer -> sklearn.metrics
sklearn.linear_model.base -> sklearn.linear_model
scipy.misc -> scipy.special | imageio
scipy.signal.hanning -> scipy.signal.windows
"""),
    names=table("""
scipy.misc.factorial -> scipy.special.factorial
scipy.misc.comb -> scipy.special.comb
scipy.misc.logsumexp -> scipy.special.logsumexp
scipy.integrate.cumtrapz -> scipy.integrate.cumulative_trapezoid
scipy.integrate.trapz -> scipy.integrate.trapezoid
scipy.integrate.simps -> scipy.integrate.simpson
scipy.signal.hann -> scipy.signal.windows.hann
scipy.signal.hamming -> scipy.signal.windows.hamming
scipy.signal.gaussian -> scipy.signal.windows.gaussian
scipy.stats.binom_test -> scipy.stats.binomtest
scipy.stats.median_absolute_deviation -> scipy.stats.median_abs_deviation
scipy.linalg.pinv2 -> scipy.linalg.pinv
scipy.interp -> numpy.interp
scipy.special.sph_harm -> scipy.special.sph_harm_y
sklearn.preprocessing.Imputer -> sklearn.impute.SimpleImputer
sklearn.metrics.plot_confusion_matrix -> sklearn.metrics.ConfusionMatrixDisplay.from_estimator
sklearn.utils.metaestimators.if_delegate_has_method -> sklearn.utils.metaestimators.available_if
sklearn.datasets.samples_generator.make_blobs -> sklearn.datasets.make_blobs
networkx.from_numpy_matrix -> networkx.from_numpy_array
networkx.to_numpy_matrix -> networkx.to_numpy_array
networkx.from_scipy_sparse_matrix -> networkx.from_scipy_sparse_array
networkx.to_scipy_sparse_matrix -> networkx.to_scipy_sparse_array
networkx.connected_component_subgraphs -> networkx.connected_components
networkx.cytoscape_graph -> networkx.readwrite.json_graph.cytoscape_graph
matplotlib.cm.get_cmap -> matplotlib.pyplot.get_cmap
matplotlib.cm.register_cmap -> matplotlib.colormaps.register
matplotlib.cbook.iterable -> numpy.iterable
matplotlib.cbook.is_string_like -> str
PIL.Image.ANTIALIAS -> PIL.Image.LANCZOS
PIL.Image.LINEAR -> PIL.Image.BILINEAR
PIL.Image.CUBIC -> PIL.Image.BICUBIC
PIL.Image.fromstring -> PIL.Image.frombytes
PIL.PILLOW_VERSION -> PIL.__version__
"""),
    attributes=table("""
get_feature_names -> get_feature_names_out
base_estimator -> estimator
base_estimator_ -> estimator_
n_features_ -> n_features_in_
node -> nodes
edge -> edges | adj
nodes_iter -> nodes
edges_iter -> edges
degree_iter -> degree
neighbors_iter -> neighbors
get_axis_bgcolor -> get_facecolor
set_axis_bgcolor -> set_facecolor
w_xaxis -> xaxis
w_yaxis -> yaxis
set_tight_layout -> set_layout_engine
getsize -> getlength | getbbox
textsize -> textlength | textbbox
"""),
    keywords=table("""
sparse -> sparse_output
base_estimator -> estimator
affinity -> metric
random_state -> rng | seed
seed -> rng
tol -> rtol
rtol -> tol
normed -> density
axisbg -> facecolor
b -> visible
basex basey -> base
nonposx nonposy -> nonpositive
ncols -> ncol
size -> height
force_all_finite -> ensure_all_finite
n_iter -> max_iter
presort ->
copy ->
"""),
)
"""Renamed, moved and removed names."""
