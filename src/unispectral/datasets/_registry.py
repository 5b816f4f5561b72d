"""The table of the paper's ten data sets: files, origins, checksums, shapes, sources."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["DATASETS", "Dataset", "File"]

# Addresses name a commit, not a branch: what the checksum was taken from cannot change there.
_RMKKM = "https://raw.githubusercontent.com/csliangdu/RMKKM/{commit}/data/{name}"
_FIRST = "d580ac64363b391bf7751f216c52319e629a9dfc"
_LATER = "168c5180a4346e32ea6363d3679b06fe68a785cc"


@dataclass(frozen=True)
class File:
    """One file of a data set.

    Examples
    --------
    >>> File("a.mat", "0" * 64, "https://example.org/a.mat").name
    'a.mat'
    """

    name: str
    sha256: str
    url: str


@dataclass(frozen=True)
class Dataset:
    """One row of the registry.

    Attributes
    ----------
    name, title : str
        Short name for `fetch`, and the name in the paper with a word of explanation.
    file : File
        What the paper's version is made from.
    raw_file : File or None
        What the untouched version is made from; None if only the preprocessed one is public.
    preparation : str
        ``"file"`` (the file is as the paper uses it), ``"unit rows"`` or ``"tf-idf"``.
    description : str
        The preprocessing in words.
    shape, n_classes : (int, int), int
        Samples and features, classes.
    image_shape : (int, int) or None
        Height and width where the rows are images.
    target_names : tuple of str
        Names of the classes, where they are known.
    citation, licence : str
        Who made the data, and what is known of the terms of use.

    Examples
    --------
    >>> DATASETS["yale"].shape
    (165, 1024)
    """

    name: str
    title: str
    file: File
    raw_file: File | None
    preparation: str
    description: str
    shape: tuple[int, int]
    n_classes: int
    citation: str
    licence: str
    image_shape: tuple[int, int] | None = None
    target_names: tuple[str, ...] = field(default=())


def _rmkkm(name: str, sha256: str, commit: str = _FIRST) -> File:
    return File(name, sha256, _RMKKM.format(commit=commit, name=name))


_YALE_RAW = _rmkkm(
    "YALE_165n_1024d_15c.mat", "5b39aa2c7e36ef9691b65498def531a910dbf5f0afd539dc17c6cbf282587a6e"
)
_ORL_RAW = _rmkkm(
    "ORL_400n_1024d_40c.mat", "daefa4e150d99837d806f4b733b17fb3a9e9bfc33d2d2a6ca522ac79c14e3af2"
)
_JAFFE_RAW = _rmkkm(
    "jaffe_213n_676d_10c.mat", "abc1a812f7f61c74f94fbbecff5503dbedfc083f528200e1a6a186446e9178ac"
)
_AR = _rmkkm(
    "AR_840n_768d_120c.mat", "8a38c360629d06e227c44b4b60e8ffb24fb81563c97d805ab70818eec3f8ee23"
)
_COIL20 = _rmkkm(
    "COIL20_1440n_1024d_20c.mat",
    "3c5e3bb39ef8f125b1d4ccd681baefd9dd1def946a72cfe400a902352c71c732",
)
_ALPHADIGITS = _rmkkm(
    "binaryalphadigs_1404n_320d_36c.mat",
    "f9f5067d97539dbc27cb6d5dab0dad46af83584d76703c4c17530618c4c4e512",
    _LATER,
)
_TDT2 = File(
    "TDT2.mat",
    "077a9f839f7a56efe797c54de7a351f2a46e69161387aef76526aafe7d872576",
    "https://raw.githubusercontent.com/jiangelle/Mat-data-time/"
    "1125d509f310a11cdcc690e4d2c669ed453bb568/TDT2.mat",
)

_ZSCORE = "every pixel to mean 0 and deviation 1 over the images, then every image to length 1"
_TFIDF_FILE = "tf-idf weights, every document to length 1 (as the public file has them)"
_TREC = (
    "TREC collections as distributed with CLUTO: Y. Zhao, G. Karypis, Empirical and theoretical "
    "comparisons of selected criterion functions for document clustering, Machine Learning 55, "
    "2004."
)
_TREC_LICENCE = "No licence is stated for these word weights; the news texts are not included."


def _text(name: str, file: File, shape: tuple[int, int], n_classes: int) -> Dataset:
    return Dataset(
        name=name,
        title=f"{name.upper()}, news documents by topic",
        file=file,
        raw_file=None,
        preparation="file",
        description=_TFIDF_FILE,
        shape=shape,
        n_classes=n_classes,
        citation=_TREC,
        licence=_TREC_LICENCE,
    )


_ROWS = (
    Dataset(
        name="yale",
        title="YALE, 15 faces under changing light and expression",
        file=_rmkkm(
            "YALE_165n_1024d_15c_zscore_uni.mat",
            "c17321f95ba1746d30dbd1156afc67e28586f091675091f509c89c7b049e90db",
        ),
        raw_file=_YALE_RAW,
        preparation="file",
        description=_ZSCORE,
        shape=(165, 1024),
        n_classes=15,
        image_shape=(32, 32),
        citation="P. Belhumeur, J. Hespanha, D. Kriegman, Eigenfaces vs. Fisherfaces, IEEE TPAMI "
        "19(7), 1997.",
        licence="Free for research; publications should acknowledge the Yale Face Database.",
    ),
    Dataset(
        name="jaffe",
        title="JAFFE, facial expressions of 10 women",
        file=_rmkkm(
            "jaffe_213n_676d_10c_uni.mat",
            "3e9d9af73d5bd7d9afc5380ad68f1ecc8f471e6057f7e092409b91a4f5ed22c6",
        ),
        raw_file=_JAFFE_RAW,
        preparation="file",
        description="every image to length 1",
        shape=(213, 676),
        n_classes=10,
        image_shape=(26, 26),
        citation="M. Lyons, S. Akamatsu, M. Kamachi, J. Gyoba, Coding facial expressions with "
        "Gabor wavelets, FG 1998.",
        licence="For non-commercial research.",
    ),
    Dataset(
        name="orl",
        title="ORL, 40 faces in ten views each",
        file=_rmkkm(
            "ORL_400n_1024d_40c_zscore_uni.mat",
            "7a7402bfbd7671423ea563e9e0be533f83dca19427bfe82f33f04949bbd419bc",
        ),
        raw_file=_ORL_RAW,
        preparation="file",
        description=_ZSCORE,
        shape=(400, 1024),
        n_classes=40,
        image_shape=(32, 32),
        citation="F. Samaria, A. Harter, Parameterisation of a stochastic model for human face "
        "identification, WACV 1994.",
        licence="Made by AT&T Laboratories Cambridge, to be credited when used.",
    ),
    Dataset(
        name="ar",
        title="AR, 120 faces under changing light and expression",
        file=_AR,
        raw_file=_AR,
        preparation="unit rows",
        description="every image to length 1 (rebuilt from the pixels: the preprocessed file that "
        "was published is damaged)",
        shape=(840, 768),
        n_classes=120,
        image_shape=(32, 24),
        citation="A. Martinez, R. Benavente, The AR face database, CVC Technical Report 24, 1998.",
        licence="Free for academic use; commercial use is prohibited.",
    ),
    Dataset(
        name="coil20",
        title="COIL20, 20 objects on a turntable",
        file=_COIL20,
        raw_file=_COIL20,
        preparation="file",
        description="none (grey values between 0 and 1)",
        shape=(1440, 1024),
        n_classes=20,
        image_shape=(32, 32),
        citation="S. Nene, S. Nayar, H. Murase, Columbia object image library (COIL-20), Columbia "
        "University CUCS-005-96, 1996.",
        licence="For non-commercial research.",
    ),
    Dataset(
        name="binary_alphadigits",
        title="BA, handwritten digits and capital letters",
        file=_ALPHADIGITS,
        raw_file=_ALPHADIGITS,
        preparation="file",
        description="none (pixels 0 and 1; 41 rows repeat an earlier one)",
        shape=(1404, 320),
        n_classes=36,
        image_shape=(20, 16),
        target_names=tuple("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        citation="S. Roweis, Binary Alphadigits, data page at New York University.",
        licence="No licence is stated.",
    ),
    _text(
        "tr11",
        _rmkkm(
            "tr11_414n_6429d_9c_tfidf_uni.mat",
            "fb31fbc4a61676019d13b74037d4b3ee732185124d50f45e118fa4bdb3ef6258",
        ),
        (414, 6429),
        9,
    ),
    _text(
        "tr41",
        _rmkkm(
            "tr41_878n_7454d_10c_tfidf_uni.mat",
            "ee3dc04b8ee153dfc9e0cb6669303b3231ff39f6db82fe10ac98f1128eb83720",
        ),
        (878, 7454),
        10,
    ),
    _text(
        "tr45",
        _rmkkm(
            "tr45_690n_8261d_10c_tfidf_uni.mat",
            "b7bf3f53b26684c96251d6e6c7bfeebd5876954dd73e4ff732ca7542d184c7a4",
        ),
        (690, 8261),
        10,
    ),
    Dataset(
        name="tdt2",
        title="TDT2, news of 1998 in 30 topics",
        file=_TDT2,
        raw_file=_TDT2,
        preparation="tf-idf",
        description="(1 + ln tf) · ln(N/df), every document to length 1 (the paper does not say "
        "what it used; this is the weighting of its other text sets)",
        shape=(9394, 36771),
        n_classes=30,
        citation="NIST Topic Detection and Tracking corpus 2; the 30 largest topics as in D. Cai, "
        "X. He, J. Han, Document clustering using locality preserving indexing, IEEE TKDE 17(12), "
        "2005. The file is a re-packed copy of theirs: topic and date are its last two columns.",
        licence="No licence is stated for these word counts; the news texts are not included.",
    ),
)

DATASETS: dict[str, Dataset] = {row.name: row for row in _ROWS}
