"""Each library with a real call; what pruning has broken in the past, or could break."""

import io
import os
import warnings


def check_numpy():
    import numpy as np

    matrix = np.random.default_rng(1).normal(size=(200, 200))
    assert np.allclose(matrix @ np.linalg.inv(matrix), np.eye(200), atol=1e-8)
    assert np.allclose(np.fft.ifft(np.fft.fft(matrix[0])).real, matrix[0])
    np.testing.assert_allclose(np.polyfit([0, 1, 2], [1, 3, 5], 1), [2, 1], atol=1e-9)
    np.save("array.npy", matrix)
    assert (np.load("array.npy") == matrix).all()
    assert np.f2py and np.get_include() and np.show_config(mode="dicts")


def check_pandas():
    import pandas as pd

    frame = pd.DataFrame({"city": ["Berlin", "Łódź", "北京"] * 50, "value": range(150)})
    frame["when"] = pd.date_range("2024-01-01", periods=150, freq="D", tz="Europe/Berlin")
    assert frame.describe()["value"]["mean"] == 74.5
    assert frame.groupby("city")["value"].sum()["北京"] == sum(range(2, 150, 3))
    assert len(frame.set_index("when").resample("ME")["value"].mean()) == 5
    assert pd.read_csv(io.StringIO(frame.to_csv(index=False))).shape == (150, 3)
    assert pd.read_json(io.StringIO(frame.to_json())).shape == (150, 3)
    assert frame.pivot_table(index="city", values="value", aggfunc="median").shape == (3, 1)
    assert frame.merge(frame, on="value").shape == (150, 5)
    assert "<table" in frame._repr_html_() and "Berlin" in frame.to_string()
    assert frame.query("value > 100 and city == 'Berlin'").shape[0] == 16
    assert pd.testing.assert_frame_equal(frame, frame.copy()) is None


def check_pandas_excel():
    import pandas as pd

    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "ü"]})
    frame.to_excel("book.xlsx", index=False, sheet_name="Tabelle")
    pd.testing.assert_frame_equal(pd.read_excel("book.xlsx", sheet_name="Tabelle"), frame, check_dtype=False)


def check_pandas_plot():
    import pandas as pd

    axes = pd.DataFrame({"a": [1, 3, 2], "b": [3, 1, 2]}).plot(kind="bar")
    axes.figure.savefig("bars.png")
    assert os.path.getsize("bars.png") > 2000


def check_openpyxl():
    import openpyxl
    from openpyxl.chart import BarChart, Reference
    from openpyxl.styles import Font

    book = openpyxl.Workbook()
    for row in ((1, 2), (3, 4)):
        book.active.append(row)
    book.active["A1"].font = Font(bold=True)
    chart = BarChart()
    chart.add_data(Reference(book.active, min_col=1, min_row=1, max_row=2))
    book.active.add_chart(chart, "D1")
    book.save("made.xlsx")
    assert openpyxl.load_workbook("made.xlsx").active["B2"].value == 4


def check_pillow():
    from PIL import Image, ImageDraw, ImageFilter, ImageFont, features

    for name in ("jpg", "zlib", "freetype2", "webp", "libtiff"):
        assert features.check(name), name
    image = Image.new("RGB", (200, 60), "white")
    for number, font in enumerate(("DejaVuSans.ttf", "/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf")):
        ImageDraw.Draw(image).text((5, 5 + 25 * number), "Grüße Ωя", font=ImageFont.truetype(font, 18), fill="black")
    assert image.convert("L").getextrema()[0] < 50
    for form in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PDF", "ICO"):
        out = io.BytesIO()
        image.filter(ImageFilter.BLUR).resize((64, 64)).save(out, form)
        if form != "PDF":
            assert Image.open(io.BytesIO(out.getvalue())).size == (64, 64), form


def check_sympy():
    import sympy as sp

    x = sp.symbols("x")
    assert sp.integrate(sp.exp(-x**2), (x, -sp.oo, sp.oo)) == sp.sqrt(sp.pi)
    assert sp.solve(x**2 - 5 * x + 6, x) == [2, 3]
    assert sp.Matrix([[1, 2], [3, 4]]).det() == -2
    assert sp.latex(sp.Rational(1, 2)) == r"\frac{1}{2}"
    assert sp.lambdify(x, sp.sin(x) ** 2, "numpy")(0.0) == 0
    assert sp.parse_expr("2*x + 1").subs(x, 3) == 7 and sp.factorint(360)[2] == 3
    assert sp.dsolve(sp.Derivative(sp.Function("f")(x), x) - sp.Function("f")(x)).rhs.has(sp.exp(x))


def check_scipy_imports_everything_public():
    import importlib

    names = ("cluster constants datasets differentiate fft fftpack integrate interpolate io linalg ndimage odr optimize signal "
             "sparse sparse.linalg sparse.csgraph spatial special stats stats.mstats stats.qmc io.wavfile").split()
    for name in names:
        try:
            importlib.import_module("scipy." + name)
        except ModuleNotFoundError as missing:  # a release may drop a whole subpackage, never a part of one
            assert missing.name == "scipy." + name, missing


def check_scipy():
    import numpy as np
    from scipy import fft, integrate, interpolate, linalg, ndimage, optimize, signal, sparse, spatial, special, stats
    from scipy.sparse import linalg as sparse_linalg

    assert abs(integrate.quad(np.sin, 0, np.pi)[0] - 2) < 1e-9
    assert integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0]).success
    assert optimize.minimize(lambda v: ((v - 3) ** 2).sum(), np.zeros(3)).success
    assert optimize.linprog([-1], A_ub=[[1]], b_ub=[5]).x[0] == 5
    assert abs(optimize.curve_fit(lambda x, a: a * x, [1, 2, 3], [2, 4, 6])[0][0] - 2) < 1e-6
    assert abs(interpolate.CubicSpline([0, 1, 2], [0, 1, 4])(1.5) - 2.25) < 1e-9
    assert linalg.expm(np.zeros((2, 2)))[0, 0] == 1 and np.allclose(fft.ifft(fft.fft([1, 2, 3])), [1, 2, 3])
    assert signal.find_peaks([0, 1, 0, 2, 0])[0].tolist() == [1, 3]
    assert signal.filtfilt(*signal.butter(2, 0.2), np.ones(50)).shape == (50,)
    assert 0 <= stats.ttest_ind([1, 2, 3, 4], [2, 3, 4, 5]).pvalue <= 1
    assert stats.gaussian_kde([1.0, 2.0, 4.0])(2.0)[0] > 0 and abs(special.gamma(5) - 24) < 1e-9
    assert ndimage.label([[1, 0, 1]])[1] == 2 and spatial.KDTree([[0, 0], [1, 1]]).query([0.1, 0])[1] == 0
    assert sparse_linalg.spsolve(sparse.csc_array(np.eye(3) * 2), np.ones(3))[0] == 0.5


def check_scikit_learn():
    from sklearn import cluster, datasets, decomposition, ensemble, linear_model, metrics, model_selection, neighbors
    from sklearn import neural_network, pipeline, preprocessing, svm, tree

    features, labels = datasets.load_iris(return_X_y=True)
    train, test, train_labels, test_labels = model_selection.train_test_split(features, labels, random_state=0)
    models = (linear_model.LogisticRegression(max_iter=500), ensemble.RandomForestClassifier(n_estimators=10),
              ensemble.HistGradientBoostingClassifier(max_iter=10), svm.SVC(), neighbors.KNeighborsClassifier(),
              tree.DecisionTreeClassifier(), neural_network.MLPClassifier(solver="lbfgs", max_iter=100))
    for model in models:
        fitted = pipeline.make_pipeline(preprocessing.StandardScaler(), model).fit(train, train_labels)
        assert metrics.accuracy_score(test_labels, fitted.predict(test)) > 0.8, model
    assert cluster.KMeans(3, n_init=2).fit(features).labels_.shape == (150,)
    assert decomposition.PCA(2).fit_transform(features).shape == (150, 2)
    grid = model_selection.GridSearchCV(svm.SVC(), {"C": [1, 10]}, cv=2, n_jobs=2).fit(features, labels)
    assert grid.best_score_ > 0.9 and grid._repr_html_()
    for load in (datasets.load_digits, datasets.load_wine, datasets.load_breast_cancer, datasets.load_diabetes):
        assert load().data.size


def check_matplotlib_formats():
    import matplotlib.pyplot as plt
    import numpy as np

    figure, axes = plt.subplots(2, 2)
    axes[0, 0].plot(np.linspace(0, 1), np.linspace(0, 1) ** 2, label="$x^2$")
    axes[0, 0].legend()
    axes[0, 1].imshow(np.eye(5), cmap="viridis")
    axes[1, 0].hist(np.random.default_rng(0).normal(size=100))
    axes[1, 1].contourf(np.outer(np.arange(5), np.arange(5)))
    figure.add_subplot(projection="3d").plot_surface(*np.meshgrid([0, 1], [0, 1]), np.ones((2, 2)))
    for form in ("png", "svg", "pdf", "ps", "jpg", "webp"):
        figure.savefig("figure." + form)
        assert os.path.getsize("figure." + form) > 1000, form


def check_matplotlib_draws_every_promised_script_in_every_style():
    import matplotlib.pyplot as plt

    text = "Grüße łódź · Ελληνικά · Кириллица · 数据分析 · 數據圖表 · ひらがなカタカナ · 한국어 · −5 €"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # "Glyph … missing from font(s)" is a warning
        for style in ("default", *plt.style.available):
            with plt.style.context(style):
                figure, axes = plt.subplots()
                axes.plot([-1, 1], label=text)
                axes.set_title(text)
                axes.legend()
                for form in ("png", "svg", "pdf") if style == "default" else ("raw",):
                    figure.savefig(io.BytesIO(), format=form)
                plt.close(figure)


def check_a_glyph_that_no_font_has_is_noticed():
    """The control of the check above: without the fallback, the same text warns."""
    import matplotlib.pyplot as plt

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure, axes = plt.subplots()
        axes.set_title("数据", family="DejaVu Sans")
        figure.savefig(io.BytesIO())
    assert any("missing from font" in str(warning.message) for warning in caught)


def check_matplotlib_uses_the_prepared_font_list():
    import matplotlib
    import matplotlib.font_manager as manager

    folder = "/usr/local/share/matplotlib"
    name = f"fontlist-v{manager.FontManager.__version__}.json"
    assert os.listdir(folder) == [name], os.listdir(folder)
    assert os.path.getmtime(os.path.join(matplotlib.get_cachedir(), name)) < 2e9 and not manager.fontManager.ttflist == []
    for font in manager.fontManager.ttflist:
        path = font.fname if os.path.isabs(font.fname) else os.path.join(matplotlib.get_data_path(), font.fname)
        assert os.path.exists(path), path
    families = {font.name for font in manager.fontManager.ttflist}
    assert {"DejaVu Sans", "DejaVu Serif", "DejaVu Sans Mono", "WenQuanYi Micro Hei"} <= families, families


def check_joblib_in_processes_and_threads():
    import math

    import joblib

    for backend in ("loky", "threading", "multiprocessing"):
        assert joblib.Parallel(2, backend=backend)(joblib.delayed(math.sqrt)(n) for n in (4, 9)) == [2, 3], backend


def check_versions_are_those_of_the_lock_file_and_of_environment_json():
    import json
    import re
    from importlib import metadata

    with open("/mnt/data/requirements.lock", encoding="utf-8") as file:
        locked = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", file.read(), re.M))
    with open("/mnt/data/environment.json", encoding="utf-8") as file:
        told = json.load(file)["packages"]
    inside = {re.sub(r"[-_.]+", "-", d.metadata["Name"]).lower(): d.version for d in metadata.distributions()}
    assert locked == told == inside, (locked, told, inside)


def check_modules_say_the_versions_that_their_metadata_say():
    import importlib
    from importlib import metadata

    modules = {"numpy": "numpy", "pandas": "pandas", "matplotlib": "matplotlib", "scipy": "scipy", "scikit-learn": "sklearn",
               "sympy": "sympy", "openpyxl": "openpyxl", "pillow": "PIL"}
    for name, module in modules.items():
        assert importlib.import_module(module).__version__ == metadata.version(name), name
