"""Reports: run folders become tables, figures and a page. Reads files only; nothing here imports torch.

* :mod:`llpe.report.tables`: runs → tables → text, Markdown, LaTeX, CSV
* :mod:`llpe.report.statistics`: is it better, or noise?
* :mod:`llpe.report.thirds`: where in the spectrum filters and labels are
* :mod:`llpe.report.figures`: numbers → figures for print, in the colours of :mod:`llpe.report.palette`
* :mod:`llpe.report.page`: runs → one HTML page that works offline, with the figures of :mod:`llpe.report.charts`
* :mod:`llpe.report.marks`: results → the parts of documents that are made from them
"""

from llpe.extra import require

require("lab", "`llpe.report`")
