"""What vulture takes for unused although somebody uses it: Qt and Python by name, other packages, people, tests."""

# ruff: noqa
__getattr__, __dir__  # Python asks modules for them
handleError, stepBy, stepEnabled  # Qt and logging call them
(
    rowCount,
    columnCount,
    headerData,
    flags,
    sizeHint,
    minimumSizeHint,
    heightForWidth,
    eventFilter,
    paint,
    focusNextPrevChild,
)  # Qt
doc, alpha_interval, observe, sample  # of the library, for notebooks and scripts
read_labels, read_colour, set_entry, set_pair, edits  # tests look through them
ContourModel  # a protocol: what models of a kind have
amplitude, mse, l1, l1_pairs, correlation, seeking, processor  # fields that are written out whole, or by name
checkpoint, pause  # the verbs of a run are the same everywhere
_.centralLayout  # of pyqtgraph's view: taken away with what it laid out
on_config, on_files, on_page_markdown  # mkdocs calls its hooks by name
startprob_, transmat_  # attributes of another library's objects
_repr_html_, to_frame  # notebooks ask for them
on_cpu  # what a kernel declares; the tests of devices read it
hasHeightForWidth  # Qt asks for it
_.showwarning, _.MAX_IMAGE_PIXELS  # settings of other packages
_.StartElementHandler, _.EndElementHandler, _.CharacterDataHandler, _.EntityDeclHandler  # expat calls them
