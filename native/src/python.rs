//! What Python sees of the scan.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::absent::Words;
use crate::hit_groups::{self, Groups};
use crate::measure;
use crate::outages::{Endings, Outage, Wanted};
use crate::scan;
use crate::segments::Jump;
use crate::signatures::{Described, Signatures};

/// What Python may rely on. It changes with every change of what a scan is given or gives: Python then uses its own.
const REVISION: u32 = 6;

type Description = (String, String, String, Vec<(String, bool, bool)>, Vec<String>, bool, bool);
type PackedRun<'py> = (String, i64, Bound<'py, PyBytes>);
type PackedGroup<'py> = (String, Vec<Bound<'py, PyBytes>>, i64, i64);
type SegmentRow = (u32, u32, i64, usize, i64, usize, i64, i64, u64, Vec<Jump>, Vec<Jump>);

/// The signatures of an audit, ready to search.
#[pyclass(frozen, name = "Signatures")]
struct PySignatures {
    all: Arc<Signatures>,
}

#[pymethods]
impl PySignatures {
    /// Each signature is its name, literal, pattern, fields (name, of the subject, digits left out), levels, whether a
    /// server's line may have it, and whether Python wants to see each line. They are searched in this order.
    #[new]
    fn new(
        signatures: Vec<Description>,
        lines: Vec<Vec<u8>>,
        beginnings: Vec<Vec<u8>>,
        quiet: Vec<Vec<u8>>,
        openings: Vec<Vec<u8>>,
    ) -> PyResult<Self> {
        let described = signatures
            .into_iter()
            .map(|(name, contains, pattern, fields, levels, server, marked)| Described {
                name,
                contains,
                pattern,
                fields,
                levels,
                server,
                marked,
            })
            .collect();
        let all = Signatures::new(described, &lines, beginnings, &quiet, openings).map_err(PyValueError::new_err)?;
        Ok(Self { all: Arc::new(all) })
    }
}

impl From<hit_groups::Damaged> for PyErr {
    fn from(damaged: hit_groups::Damaged) -> Self {
        PyValueError::new_err(damaged.0)
    }
}

struct PyHost<'a, 'py> {
    host: &'a Bound<'py, PyAny>,
}

impl scan::Host for PyHost<'_, '_> {
    type Error = PyErr;

    fn source(&mut self, prefix: &[u8]) -> PyResult<i32> {
        let py = self.host.py();
        self.host.call_method1(intern!(py, "source_of"), (PyBytes::new(py, prefix),))?.extract()
    }

    fn voice(&mut self, prefix: &[u8]) -> PyResult<u32> {
        let py = self.host.py();
        self.host.call_method1(intern!(py, "voice_of"), (PyBytes::new(py, prefix),))?.extract()
    }

    fn offset_us(&mut self, quarter: i64) -> PyResult<i64> {
        self.host.call_method1(intern!(self.host.py(), "offset_us"), (quarter,))?.extract()
    }

    fn measured(&mut self, value: &str) -> PyResult<Option<i64>> {
        self.host.call_method1(intern!(self.host.py(), "measured"), (value,))?.extract()
    }

    fn read_line(&mut self, line: scan::Odd) -> PyResult<scan::Reply> {
        let stamp = line.stamp.map_or(-1, |at| at as i64);
        let arguments = (line.begin, line.end, stamp, line.us, line.source, line.last);
        let (renamed, skip, cuts) = self.host.call_method1(intern!(self.host.py(), "read_line"), arguments)?.extract()?;
        Ok(scan::Reply { renamed, skip, cuts })
    }
}

/// The scan of one part.
#[pyclass(name = "Scan")]
struct PyScan {
    scan: scan::Scan,
}

#[pymethods]
impl PyScan {
    /// `zoned`: the host knows how far the part's times are from UTC.
    #[new]
    fn new(signatures: &PySignatures, zoned: bool) -> Self {
        Self { scan: scan::Scan::new(Arc::clone(&signatures.all), zoned) }
    }

    /// Scan whole lines: `base` is the offset of the first byte, `before` the lines of the part so far.
    fn block(&mut self, block: &Bound<'_, PyBytes>, base: u64, before: u64, host: &Bound<'_, PyAny>) -> PyResult<()> {
        self.scan.block(block.as_bytes(), base, before, &mut PyHost { host })
    }

    /// Lines of the last block.
    #[getter]
    fn lines(&self) -> usize {
        self.scan.lines()
    }

    /// Those of which not all was looked at.
    #[getter]
    fn long_lines(&self) -> u64 {
        self.scan.long_lines
    }

    /// Whether it is time to let go of what was counted.
    #[getter]
    fn full(&self) -> bool {
        self.scan.is_full()
    }

    /// The numbers, from 0, of the lines of the last block that start at these offsets of it.
    fn numbers(&self, starts: Vec<usize>) -> Vec<usize> {
        starts.into_iter().map(|start| self.scan.number(start)).collect()
    }

    /// The segments of the last block: voice, cut, first time and place, last ones, lowest and highest time, lines,
    /// steps and gaps.
    fn segments(&self) -> Vec<SegmentRow> {
        let row = |one: &crate::segments::Segment| {
            let ((first_us, first_at), (last_us, last_at)) = (one.first, one.last);
            let jumps = (one.steps.clone(), one.gaps.clone());
            let span = (one.lowest, one.highest);
            (one.voice, one.cut, first_us, first_at, last_us, last_at, span.0, span.1, one.lines, jumps.0, jumps.1)
        };
        self.scan.segments.all.iter().map(row).collect()
    }

    /// All counts as runs of hits in the order of their keys, and none from here on: key and time of the first, and
    /// all of them, packed. Sources are packed, by number.
    fn runs<'py>(&mut self, py: Python<'py>, sources: Vec<Vec<u8>>) -> Vec<PackedRun<'py>> {
        let mut runs = vec![];
        self.scan.runs(&sources, &mut |run| runs.push((run.key.into(), run.first_us, PyBytes::new(py, run.packed))));
        runs
    }
}

/// Puts the hits of many runs in order; see `hit_groups::Groups`.
#[pyclass(name = "HitGroups")]
struct PyHitGroups {
    groups: Groups,
}

#[pymethods]
impl PyHitGroups {
    /// `kept`: so many subjects of each signature can be kept, those with most lines.
    #[new]
    fn new(kept: usize) -> Self {
        Self { groups: Groups::new(kept) }
    }

    /// Takes one more run, of a part that begins at `start`. Runs come in the order of their first keys. Returns groups
    /// that are complete: signature, what its hits are together by server (packed), and lines and subjects of others that
    /// cannot be kept. `server_of` gives the number of the server of a packed source; it is asked once for each source,
    /// and what is packed names sources by the order of these calls.
    fn add<'py>(
        &mut self,
        py: Python<'py>,
        start: i64,
        run: &Bound<'py, PyBytes>,
        server_of: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<PackedGroup<'py>>> {
        self.groups.add(start, run.as_bytes().into(), &mut server_number(server_of))?;
        Ok(self.taken(py))
    }

    /// What is left, once all runs are there.
    fn end<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<PackedGroup<'py>>> {
        self.groups.end()?;
        Ok(self.taken(py))
    }
}

impl PyHitGroups {
    fn taken<'py>(&mut self, py: Python<'py>) -> Vec<PackedGroup<'py>> {
        let packed = |merged: Vec<Vec<u8>>| merged.iter().map(|one| PyBytes::new(py, one)).collect();
        let groups = std::mem::take(&mut self.groups.complete);
        groups.into_iter().map(|group| (group.signature, packed(group.merged), group.lines, group.subjects)).collect()
    }
}

fn server_number<'a>(server_of: &'a Bound<'_, PyAny>) -> impl FnMut(&[u8]) -> PyResult<u32> + 'a {
    |source| server_of.call1((PyBytes::new(server_of.py(), source),))?.extract()
}

/// See `outages::outages`. `endings`: sorted times, eight bytes each, of each signature that ends the trouble.
#[pyfunction]
#[pyo3(name = "outages", signature = (spans, endings, shift, pause_us, clock_us, doubtful, least))]
fn outages_of(
    spans: &[u8],
    endings: Vec<Bound<'_, PyBytes>>,
    shift: i64,
    pause_us: i64,
    clock_us: i64,
    doubtful: bool,
    least: Option<(bool, i64)>,
) -> (usize, Vec<Outage>) {
    let endings = Endings { times: endings.iter().map(|times| times.as_bytes()).collect(), shift };
    crate::outages::outages(spans, &endings, &Wanted { pause_us, clock_us, doubtful, least })
}

/// Words that a text may have.
#[pyclass(frozen, name = "Words")]
struct PyWords {
    words: Words,
}

#[pymethods]
impl PyWords {
    /// Words that count as they are, and words that count in letters of either size.
    #[new]
    fn new(exact: Vec<Vec<u8>>, of_any_case: Vec<Vec<u8>>) -> PyResult<Self> {
        let words = Words::new(&exact, &of_any_case).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { words })
    }

    /// Whether a text has none of them.
    fn are_absent(&self, text: &[u8]) -> bool {
        self.words.are_absent(text)
    }
}

/// Whether a captured value is understood here, and the number that it is.
#[pyfunction]
fn measured(value: &str) -> (bool, Option<i64>) {
    match measure::measured(value) {
        measure::Measure::Number(number) => (true, Some(number)),
        measure::Measure::Nothing => (true, None),
        measure::Measure::AskPython => (false, None),
    }
}

#[pymodule]
fn jsdoctor_native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("REVISION", REVISION)?;
    module.add_class::<PySignatures>()?;
    module.add_class::<PyScan>()?;
    module.add_class::<PyHitGroups>()?;
    module.add_class::<PyWords>()?;
    module.add_function(wrap_pyfunction!(measured, module)?)?;
    module.add_function(wrap_pyfunction!(outages_of, module)?)?;
    Ok(())
}
