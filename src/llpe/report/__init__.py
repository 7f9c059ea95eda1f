"""Reports: run folders become tables and figures. Reads files only; nothing here imports torch.

* :mod:`llpe.report.collect`: run folders → :class:`~llpe.report.collect.Run`
* :mod:`llpe.report.table`: runs → tables, and tables → text, Markdown, LaTeX, CSV
* :mod:`llpe.report.paired`, :mod:`llpe.report.verdict`: is it better, or noise?
* :mod:`llpe.report.thirds`: where in the spectrum filters and labels are
* :mod:`llpe.report.figures`: numbers → figures
* :mod:`llpe.report.page`: runs → one HTML page that works offline
"""

from llpe.extra import require_lab

require_lab("`llpe.report`")
