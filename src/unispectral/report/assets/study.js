(() => {
  const {el, svg} = UI, data = UI.data;
  const byId = (id) => document.getElementById(id);
  const state = { metric: data.metrics[0].id, protocol: data.protocols[0]?.id, sort: null, up: false, set: "" };
  const replace = (id, ...children) => byId(id).replaceChildren(...children.flat(Infinity).filter(Boolean));

  // Words for numbers.
  const number = (v, digits = 2) => (v === null || v === undefined ? "–" : v.toFixed(digits));
  const signed = (v) => (Math.abs(v) < 0.005 ? "=" : (v < 0 ? "−" : "+") + Math.abs(v).toFixed(2));
  function seconds(s) {
    if (s === null || s === undefined) return "–";
    if (s < 0.001) return "< 1 ms";
    if (s < 1) return `${Number((s * 1000).toPrecision(s < 0.1 ? 2 : 3))} ms`;
    if (s < 90) return `${Number(s.toPrecision(3))} s`;
    if (s < 5400) return `${Math.round(s / 60)} min`;
    return `${(s / 3600).toFixed(1)} h`;
  }
  function short(v) {
    // 0.00001 does not fit under a cell; 10⁻⁵ does.
    const e = typeof v === "number" && v > 0 ? Math.log10(v) : NaN;
    if (!(Math.abs(e) > 2.5 && Math.abs(e - Math.round(e)) < 1e-9)) return v;
    return "10" + String(Math.round(e)).replace("-", "⁻").replace(/\d/g, (d) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]);
  }
  const bytes = (b) => (b ? `${(b / 2 ** 20).toFixed(0)} MB` : "–");
  const parameters = (p) => Object.entries(p || {}).map(([k, v]) => `${k} = ${JSON.stringify(v)}`).join(", ");
  const metricTitle = (id = state.metric) => data.metrics.find((m) => m.id === id).title;

  // Figures: value, spread, paper, setting, seconds, peak_bytes, done, expected, failed, note.
  const columnsOf = (protocol = state.protocol) => data.columns[protocol] || [];
  const figure = (set, column, metric = state.metric, protocol = state.protocol) =>
    data.figures[protocol][metric][set][column];
  function complete(metric = state.metric, protocol = state.protocol) {
    const columns = columnsOf(protocol).map((_, c) => c);
    return data.datasets.map((_, d) => d).filter((d) => columns.every((c) => figure(d, c, metric, protocol).value !== null));
  }
  const mean = (values) => (values.length ? values.reduce((a, b) => a + b, 0) / values.length : null);
  function best(set, metric) {
    const values = columnsOf().map((_, c) => figure(set, c, metric).value).filter((v) => v !== null);
    return values.length ? Math.max(...values.map((v) => Math.round(v * 100))) : null;
  }

  // The table.
  function rowsOf(metric) {
    const full = complete(metric);
    const ranks = data.ranks[state.protocol]?.[metric];
    const rows = columnsOf().map((column, c) => ({
      column, c,
      rank: ranks ? ranks.ranks[ranks.columns.indexOf(column.name)] ?? null : null,
      mean: mean(full.map((d) => figure(d, c, metric).value)),
    }));
    if (state.sort !== null) {
      const key = { name: (r) => r.column.name, rank: (r) => r.rank, mean: (r) => r.mean }[state.sort]
        || ((r) => figure(Number(state.sort), r.c, metric).value);
      rows.sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === null || y === null) return (x === null) - (y === null);
        const order = typeof x === "string" ? x.localeCompare(y) : x - y;
        return state.up ? order : -order;
      });
    }
    return rows;
  }
  function heading(label, key, tip) {
    const sorted = state.sort === key ? (state.up ? "ascending" : "descending") : null;
    const press = () => {
      state.up = state.sort === key ? !state.up : key === "name" || key === "rank";
      state.sort = key;
      drawTable();
      byId("table").querySelector(`[data-key="${key}"]`).focus();  // the heading pressed is a new one now
    };
    return el("th", { scope: "col", "aria-sort": sorted, title: tip }, el("button", { type: "button", "data-key": key, onclick: press }, label));
  }
  function drawTable() {
    fillTable(byId("table"), state.metric, true);
    const printed = data.metrics.map((m) => [el("h3", {}, m.title), fillTable(el("table", { class: "figures" }), m.id, false)]);
    replace("printed", printed);
    const columns = columnsOf().length, full = complete().length;
    byId("protocol-text").textContent = `${state.protocol}: ${data.protocols.find((p) => p.id === state.protocol).text}`
      + ` ${UI.count(columns, "column")} on ${UI.count(data.datasets.length, "data set")}; ${full === data.datasets.length ? "all have a figure everywhere" : `${full} of these have a figure in every column, and the mean is over them`}.`;
  }
  function fillTable(table, metric, live) {
    const count = complete(metric).length;
    const head = el("tr", {}, heading("Method", "name"), heading("Rank", "rank", "Average rank"),
      heading("Mean", "mean", `Mean over the ${UI.count(count, "data set")} on which all columns have a figure`),
      data.datasets.map((set, d) => heading(set.title, String(d), `${set.samples ?? "?"} samples`)));
    const tops = data.datasets.map((_, d) => best(d, metric));
    const body = rowsOf(metric).map((row) => el("tr", {},
      el("th", { scope: "row", title: row.column.title, class: row.column.ours ? "ours" : null }, row.column.name.split(/(?<=[a-z])(?=[A-Z])/).map((word, i) => [i ? el("wbr") : null, word])),
      el("td", { class: "sum" }, number(row.rank, 1)),
      el("td", { class: "sum last" }, number(row.mean, 1)),
      data.datasets.map((_, d) => cellOf(d, row.c, metric, tops[d], live))));
    table.replaceChildren(el("thead", {}, head), el("tbody", {}, body));
    return table;
  }
  function cellOf(set, c, metric, top, live) {
    const f = figure(set, c, metric);
    const isBest = f.value !== null && Math.round(f.value * 100) === top;
    const marks = (f.done < f.expected ? "†" : "") + (f.note ? "‡" : "");
    const gap = f.value !== null && f.paper !== null ? f.value - f.paper : null;
    const content = [
      el("span", { class: f.value === null ? "value none" : "value" }, number(f.value)),
      marks ? el("sup", {}, marks) : null,
      f.spread === null ? null : el("small", {}, `± ${number(f.spread)}`),
      f.paper === null ? null : el("small", {}, number(f.paper), " ",
        gap === null ? "" : el("span", { class: gap < -0.005 ? "down" : gap > 0.005 ? "up" : null }, signed(gap))),
    ];
    return el("td", { class: isBest ? "best" : null }, live
      ? el("button", { type: "button", class: "figure", onclick: () => openCell(set, c, metric) }, content)
      : el("div", { class: "figure" }, content));
  }

  // The paper's own tables: its figure above ours.
  function paperTable(table) {
    const line = (value, isBest, mark) => el("span", { class: isBest ? "line best" : "line" }, number(value), mark ? el("sup", {}, mark) : null);
    const cell = (c) => el("td", {}, line(c.paper, c.paper_best, c.marks.includes("ˢ") ? "ˢ" : ""), line(c.ours, c.ours_best, c.marks));
    const full = table.rows.filter((row) => row.cells.every((c) => c.paper !== null && c.ours !== null));
    const means = table.columns.map((_, i) => ["paper", "ours"].map((of) => mean(full.map((row) => row.cells[i][of]))));
    const head = el("tr", {}, el("th", { scope: "col" }, "Data"), table.columns.map((name) => el("th", { scope: "col" }, name)));
    const body = table.rows.map((row) => el("tr", {}, el("th", { scope: "row" }, row.title), row.cells.map(cell)));
    const last = el("tr", {}, el("th", { scope: "row" }, `Mean of ${full.length}`), means.map(([paper, ours]) => el("td", {}, line(paper), line(ours))));
    const rows = () => [["data", "whose", ...table.columns], ...table.rows.flatMap((row) => [
      [row.title, "paper", ...row.cells.map((c) => c.paper)], [row.title, "ours", ...row.cells.map((c) => c.ours)]])];
    return [el("h3", {}, table.title), table.title === "Purity" ? el("p", { class: "say" }, data.swapped) : null,
      UI.figure(`The paper ${table.title}`, el("div", { class: "scroll" }, el("table", { class: "figures paper" }, el("thead", {}, head), el("tbody", {}, body, last))), rows, null)];
  }

  // One figure in full.
  function openCell(set, c, metric) {
    const column = columnsOf()[c];
    const f = figure(set, c, metric);
    const settings = data.settings[`${set}|${column.method}`] || [];
    const facts = [
      ["Score", `${metricTitle(metric)} ${number(f.value)}${f.spread === null ? "" : ` ± ${number(f.spread)} over the repeats`}`],
      ...(f.paper === null ? [] : [["Paper", `${number(f.paper)}${f.value === null ? "" : (Math.abs(f.value - f.paper) < 0.005 ? ", the same" : `, difference ${signed(f.value - f.paper)}`)}`]]),
      ["Protocol", state.protocol], ["Made of", column.rule], ["Estimator", column.estimator],
    ];
    const chosen = f.setting === null ? null : settings[f.setting];
    if (chosen) facts.push(["Kernel", [chosen.kernel, chosen.bank].filter(Boolean).join(", ") || "–"], ["Parameters", parameters(chosen.parameters) || "defaults"]);
    facts.push(["One fit", `${seconds(f.seconds)}, peak memory of the process ${bytes(f.peak_bytes)}`],
      ["Cells", `${f.done} of ${f.expected} done, ${f.failed} failed`]);
    if (f.note) facts.push(["Remark", f.note]);
    const body = [UI.facts(facts)];
    if (chosen?.values && chosen.values[metric].length > 1) body.push(el("h4", {}, "Repeats"), strip(chosen.values[metric], f.value));
    if (settings.length > 1) body.push(el("h4", {}, "All settings, best first"), settingsTable(settings, metric));
    byId("cell-title").textContent = `${column.name} on ${data.datasets[set].title}`;
    replace("cell-body", body);
    byId("cell").showModal();
  }
  function settingsTable(settings, metric) {
    const rows = settings.map((s) => ({ s, value: s.values ? mean(s.values[metric]) : null }))
      .sort((a, b) => (b.value ?? -1) - (a.value ?? -1));
    const most = rows.slice(0, 60);
    const hasKernel = settings.some((s) => s.kernel || s.bank);
    const keys = [...new Set(settings.flatMap((s) => Object.keys(s.parameters)))]
      .filter((key) => new Set(settings.map((s) => JSON.stringify(s.parameters[key]))).size > 1);
    const differing = (p) => parameters(Object.fromEntries(keys.filter((key) => key in p).map((key) => [key, p[key]])));
    const meter = (v) => { const i = el("i"); i.style.width = `${v ?? 0}%`; return el("span", { class: "meter" }, i); };
    return el("div", { class: "scroll" }, el("table", { class: "plain" },
      el("thead", {}, el("tr", {}, [hasKernel && "Kernel", keys.length > 0 && "Parameters", metricTitle(metric), "", "One fit", "Done"]
        .filter((t) => t !== false).map((t) => el("th", { class: "name" }, t)))),
      el("tbody", {}, most.map(({ s, value }) => el("tr", {},
        hasKernel ? el("td", { class: "name" }, [s.kernel, s.bank].filter(Boolean).join(", ") || "–") : null,
        keys.length ? el("td", {}, differing(s.parameters)) : null,
        el("td", {}, number(value)), el("td", {}, meter(value)), el("td", { class: "name" }, seconds(s.seconds)),
        el("td", {}, s.failed ? `${s.done}, ${s.failed} failed` : s.done)))),
      rows.length > most.length ? el("tfoot", {}, el("tr", {}, el("td", { colspan: 6 }, `and ${rows.length - most.length} more`))) : null));
  }
  function strip(values, at) {
    const [w, h] = [560, 46];
    const low = Math.min(...values, at ?? 100), high = Math.max(...values, at ?? 0);
    const pad = Math.max(0.5, (high - low) * 0.08);
    const x = (v) => 24 + (w - 48) * (v - low + pad) / (high - low + 2 * pad);
    return svg("svg", { viewBox: `0 0 ${w} ${h}`, role: "img", "aria-label": "The score of each repeat" },
      svg("line", { class: "axis", x1: 10, x2: w - 10, y1: 20, y2: 20 }),
      values.map((v) => svg("circle", { class: "dot", cx: x(v), cy: 20, r: 5, "fill-opacity": 0.45, "data-tip": number(v) })),
      at === null ? null : svg("line", { class: "group", x1: x(at), x2: x(at), y1: 8, y2: 32 }),
      svg("text", { class: "soft", x: 10, y: 44, "font-size": 11 }, number(low, 1)),
      svg("text", { class: "soft", x: w - 10, y: 44, "font-size": 11, "text-anchor": "end" }, number(high, 1)));
  }

  // The width a picture has: its letters then are as large as those around it.
  const roomIn = (id, most) => Math.max(300, Math.min(most, byId(id).clientWidth - 28 || most));

  // Average ranks, as papers print them: an axis, names on both sides, bars that join what does not differ.
  const inWords = (p) => (p < 0.001 ? "below 0.001" : p.toFixed(3));
  function drawRanks() {
    const ranks = data.ranks[state.protocol]?.[state.metric];
    byId("ranks").hidden = !ranks;
    if (!ranks) return;
    byId("ranks-text").textContent = `${metricTitle()}, protocol ${state.protocol}, ${ranks.datasets} data sets; rank 1 is best. `
      + `That all columns are alike has p ${inWords(ranks.friedman)} (Friedman, as corrected by Iman and Davenport). `
      + `Bars join columns whose average ranks are closer than the critical difference of ${ranks.critical.toFixed(2)} (Nemenyi, 5 %), which is drawn above the axis.`
      + (ranks.left_out.length ? ` Not ranked, for lack of figures: ${ranks.left_out.join(", ")}.` : "");
    const k = ranks.columns.length, w = Math.max(620, roomIn("ranks-picture", 860)), longest = 28, size = 13;
    const names = ranks.columns.map((name) => (name.length > longest ? name.slice(0, longest - 1) + "…" : name));
    const side = 34 + 6.9 * Math.max(...names.map((name) => name.length));
    const half = Math.ceil(k / 2), low = Math.floor(ranks.ranks[0]), high = Math.max(low + 1, Math.ceil(ranks.ranks[k - 1]));
    const x = (r) => side + (w - 2 * side) * (r - low) / (high - low);
    const lanes = [];
    for (const [a, b] of ranks.groups) {
      let lane = lanes.findIndex((end) => ranks.ranks[a] > end + 0.02 * (high - low));
      if (lane < 0) lane = lanes.push(0) - 1;
      lanes[lane] = ranks.ranks[b];
      ranks.lane = { ...(ranks.lane || {}), [a]: lane };
    }
    const axis = 52, first = axis + 16 + 8 * lanes.length, row = 21, h = first + row * half + 12;
    const step = (w - 2 * side) / (high - low) < 18 ? 5 : (w - 2 * side) / (high - low) < 34 ? 2 : 1;
    const ticks = Array.from({ length: high - low + 1 }, (_, i) => low + i).filter((t) => (t - low) % step === 0);
    const width = x(low + ranks.critical) - x(low);
    replace("ranks-picture", UI.figure(`Average ranks ${state.protocol} ${state.metric}`, svg("svg", { class: "whole", viewBox: `0 0 ${w} ${h}`, width: w, role: "img", "aria-label": "Average ranks with critical difference" },
      width < w - 2 * side ? [svg("path", { class: "rule", d: `M${x(low)} 10v8M${x(low)} 14h${width}M${x(low) + width} 10v8` }),
        svg("text", { class: "soft", x: x(low) + width + 6, y: 18, "font-size": 11 }, `CD = ${ranks.critical.toFixed(2)}`)] : null,
      svg("line", { class: "rule", x1: x(low), x2: x(high), y1: axis, y2: axis }),
      ticks.map((t) => [svg("line", { class: "rule", x1: x(t), x2: x(t), y1: axis - 6, y2: axis }), svg("text", { class: "soft", x: x(t), y: axis - 10, "font-size": 12, "text-anchor": "middle" }, t)]),
      ranks.columns.map((name, i) => {
        const left = i < half, place = left ? i : k - 1 - i, at = first + row * (place + 0.5), px = x(ranks.ranks[i]), end = left ? side - 8 : w - side + 8;
        const beside = ranks.beside_best[i];
        const tip = `${name}: average rank ${ranks.ranks[i].toFixed(2)}` + (beside ? `\nagainst ${ranks.columns[0]}: ${beside.wins} wins, ${beside.ties} ties, ${beside.losses} losses\nWilcoxon p ${inWords(beside.p_holm)} (Holm)` : "");
        return [svg("polyline", { class: "stem", points: `${px},${axis} ${px},${at} ${end},${at}` }),
          svg("circle", { class: i === 0 ? "dot" : "dot other", cx: px, cy: axis, r: 3.5, "data-tip": tip }),
          svg("text", { x: left ? side - 12 : w - side + 12, y: at + 4, "font-size": size, "text-anchor": left ? "end" : "start", "data-tip": tip }, names[i])];
      }),
      ranks.groups.map(([a, b]) => svg("line", { class: "group", x1: x(ranks.ranks[a]) - 4, x2: x(ranks.ranks[b]) + 4, y1: axis + 9 + 8 * ranks.lane[a], y2: axis + 9 + 8 * ranks.lane[a] }))),
    () => [["column", "average rank", "wins", "ties", "losses", "p", "p (Holm)"], ...ranks.columns.map((name, i) => {
      const beside = ranks.beside_best[i];
      return [name, ranks.ranks[i], beside?.wins, beside?.ties, beside?.losses, beside?.p_value, beside?.p_holm];
    })]));
  }

  // Score against time.
  function drawTime() {
    const sets = state.set === "" ? complete() : [Number(state.set)];
    const points = columnsOf().map((column, c) => {
      const fs = sets.map((d) => figure(d, c)).filter((f) => f.value !== null && f.seconds > 0);
      if (!fs.length || fs.length < sets.length) return null;
      return { name: column.name, ours: column.ours, v: mean(fs.map((f) => f.value)),
        t: Math.exp(mean(fs.map((f) => Math.log(Math.max(f.seconds, 1e-4))))) };
    }).filter(Boolean);
    byId("time").hidden = columnsOf().length < 2;
    if (!points.length) return replace("time-picture", el("p", { class: "say" }, "No data set has a figure in every column yet; choose one."));
    const w = roomIn("time-picture", 1060), [h, left, right, top, bottom] = [430, 52, w > 500 ? 96 : 74, 18, 48];
    const logs = points.map((p) => Math.log10(p.t));
    const x0 = Math.floor(Math.min(...logs) * 2) / 2 - 0.1, x1 = Math.ceil(Math.max(...logs) * 2) / 2 + 0.1;
    const vs = points.map((p) => p.v);
    const y0 = Math.max(0, Math.floor((Math.min(...vs) - 2) / 5) * 5), y1 = Math.min(100, Math.ceil((Math.max(...vs) + 1) / 5) * 5);
    const x = (t) => left + (w - left - right) * (Math.log10(t) - x0) / (x1 - x0);
    const y = (v) => h - bottom - (h - bottom - top) * (v - y0) / Math.max(1, y1 - y0);
    const front = [];
    for (const p of [...points].sort((a, b) => a.t - b.t || b.v - a.v)) if (!front.length || p.v > front[front.length - 1].v) front.push(p);
    const yTicks = Array.from({ length: Math.floor((y1 - y0) / 5) + 1 }, (_, i) => y0 + 5 * i).filter((t) => y1 - y0 <= 40 || t % 10 === 0);
    const xTicks = Array.from({ length: 12 }, (_, i) => i - 5).filter((e) => e >= x0 && e <= x1);
    replace("time-picture", UI.figure(`Score against time ${state.protocol} ${state.metric}`, svg("svg", { viewBox: `0 0 ${w} ${h}`, width: w, role: "img", "aria-label": "Score against seconds of one fit" },
      yTicks.map((t) => [svg("line", { class: "axis", x1: left, x2: w - 8, y1: y(t), y2: y(t) }), svg("text", { class: "soft", x: left - 8, y: y(t) + 4, "font-size": 12, "text-anchor": "end" }, t)]),
      xTicks.map((e) => [svg("line", { class: "axis", x1: x(10 ** e), x2: x(10 ** e), y1: top, y2: h - bottom }),
        svg("text", { class: "soft", x: x(10 ** e), y: h - bottom + 18, "font-size": 12, "text-anchor": "middle" }, seconds(10 ** e))]),
      svg("text", { class: "soft", x: (left + w - right) / 2, y: h - 8, "font-size": 12, "text-anchor": "middle" },
        state.set === "" ? `seconds of one fit, geometric mean${w > 500 ? ` over ${sets.length} data set${sets.length === 1 ? "" : "s"}` : ""}` : "seconds of one fit"),
      svg("text", { class: "soft", x: 14, y: top + 4, "font-size": 12, transform: `rotate(-90 14 ${top + 4})`, "text-anchor": "end" }, metricTitle()),
      svg("polyline", { class: "front", points: front.map((p) => `${x(p.t)},${y(p.v)}`).join(" ") }),
      labelled(points, x, y, w)), () => [["column", metricTitle(), "seconds"], ...points.map((p) => [p.name, p.v, p.t])]));
  }
  function labelled(points, x, y, room) {
    // Labels to the right of their points, or above them where the picture ends, pushed down as far
    // as those before them and the other points need.
    const taken = points.map((p) => ({ p, x: x(p.t) - 6, y: y(p.v), w: 12 })), names = [];
    const dots = [...points].sort((a, b) => y(a.v) - y(b.v)).map((p) => {
      const [px, py] = [x(p.t), y(p.v)], tip = `${p.name}\n${metricTitle()} ${number(p.v)}\n${seconds(p.t)}`;
      const width = p.name.length * 6.8 + 14;
      const fits = px + width <= room;
      const begin = fits ? px : room - width;
      let at = fits ? py : py - 14;
      const hit = () => taken.find((t) => t.p !== p && begin < t.x + t.w && t.x < begin + width && Math.abs(at - t.y) < 13);
      for (let t = hit(); t; t = hit()) at = t.y + 13.01;
      taken.push({ x: begin, y: at, w: width });
      names.push(svg("text", { class: "halo", x: fits ? px + 10 : room - 2, y: at + 4, "font-size": 12, "text-anchor": fits ? "start" : "end", "data-tip": tip }, p.name));
      return [at - py > 5 ? svg("line", { class: "leader", x1: px, y1: py, x2: px + 8, y2: at }) : null,
        svg("circle", { class: p.ours ? "dot" : "dot other", cx: px, cy: py, r: 5.5, "data-tip": tip })];
    });
    return [dots, names];
  }

  // Parameter surfaces.
  function drawSurfaces() {
    byId("surfaces").hidden = !data.surfaces.length;
    replace("surfaces-pictures", data.surfaces.map((s) => {
      const values = s.values[state.metric];
      const all = values.flat(2).filter((v) => v !== null);
      if (!all.length) return null;
      const range = [Math.min(...all), Math.max(...all)];
      const panels = values.map((grid, k) => {
        const name = s.panel ? `${s.panel.name} = ${short(s.panel.values[k])}` : metricTitle();
        return el("div", { class: "card" }, el("h3", {}, name), UI.figure(`${s.title} on ${s.dataset} ${name}`, heat(s, grid, range),
          () => [[`${s.y.name} by ${s.x.name}`, ...s.x.values], ...grid.map((line, j) => [s.y.values[j], ...line])]));
      });
      return el("div", {}, el("h3", {}, `${s.title} on ${s.dataset}: ${metricTitle().toLowerCase()} from ${number(range[0], 1)} to ${number(range[1], 1)}`),
        el("div", { class: "panels" }, panels));
    }));
  }
  const scaled = (v, [low, high]) => (high > low ? (v - low) / (high - low) : 0.5);
  function heat(s, grid, range) {
    const left = 62, size = 44, top = 6, nx = s.x.values.length, ny = s.y.values.length;
    const w = left + nx * size + 6, h = top + ny * size + 44;
    return svg("svg", { viewBox: `0 0 ${w} ${h}`, width: w, role: "img", "aria-label": `Heat map over ${s.x.name} and ${s.y.name}` },
      grid.map((line, j) => line.map((v, i) => {
        const [px, py] = [left + i * size, top + (ny - 1 - j) * size];
        const tip = `${s.x.name} = ${s.x.values[i]}, ${s.y.name} = ${s.y.values[j]}\n${metricTitle()} ${number(v)}`;
        if (v === null) return svg("rect", { class: "band", x: px, y: py, width: size - 2, height: size - 2, rx: 4, "data-tip": tip });
        const t = scaled(v, range);
        return [svg("rect", { x: px, y: py, width: size - 2, height: size - 2, rx: 4, fill: UI.amount(t), "data-tip": tip }),
          svg("text", { x: px + size / 2 - 1, y: py + size / 2 + 3, "font-size": 11, "text-anchor": "middle", "pointer-events": "none", "data-ink": UI.inkOn(UI.amount(t)) }, v.toFixed(0))];
      })),
      s.y.values.map((v, j) => svg("text", { class: "soft", x: left - 8, y: top + (ny - 1 - j) * size + size / 2 + 3, "font-size": 11, "text-anchor": "end" }, short(v))),
      s.x.values.map((v, i) => svg("text", { class: "soft", x: left + i * size + size / 2, y: top + ny * size + 14, "font-size": 11, "text-anchor": "middle" }, short(v))),
      svg("text", { x: left + nx * size / 2, y: h - 8, "font-size": 12, "text-anchor": "middle" }, s.x.name),
      svg("text", { x: 12, y: top + ny * size / 2, "font-size": 12, "text-anchor": "middle", transform: `rotate(-90 12 ${top + ny * size / 2})` }, s.y.name));
  }
  // The page: sections that are filled when a choice is made, and lists that are there once.
  function build() {
    const pick = (key) => (value) => { state[key] = value; if (key === "protocol") state.sort = null; draw(); };
    const group = (legend, ...inner) => el("fieldset", {}, el("legend", {}, legend), inner);
    const main = UI.shell({ title: data.title, lead: data.about, controls: [
      group("Score", UI.choice("metric", "metrics", data.metrics.map((m) => [m.id, m.title]), state.metric, pick("metric"))),
      group("Protocol", UI.choice("protocol", "protocols", data.protocols.map((p) => [p.id, p.id]), state.protocol, pick("protocol")))] });
    const say = (id, text) => el("p", { class: "say", id }, text);
    const place = (id, cls) => el("div", { id, class: cls });
    const sets = el("select", { id: "time-data", onchange: () => { state.set = sets.value; drawTime(); } },
      el("option", { value: "" }, "mean of all"), data.datasets.map((set, d) => el("option", { value: d }, set.title)));
    if (data.protocols.length && !complete().length && data.datasets.length) { state.set = "0"; sets.value = "0"; }
    const shown = () => [["method", "rank", "mean", ...data.datasets.map((set) => set.title)],
      ...rowsOf(state.metric).map((row) => [row.column.name, row.rank, row.mean, ...data.datasets.map((_, d) => figure(d, row.c).value)])];
    const list = (tag, id, items) => el(tag, { id, class: "remarks" }, items.map((item) => el("li", {}, item)));
    main.append(
      UI.tiles(data.numbers.map(([value, label]) => ({ value, label }))),
      data.paper.length ? UI.section("paper", "The paper’s tables", null,
        say(null, "Its columns, its rows, its protocol: tuned with the true labels. In each cell the paper’s figure stands above ours; the best of each row is marked, the paper’s among the paper’s and ours among ours."),
        data.paper.map(paperTable)) : "",
      UI.section("figures", data.paper.length ? "All figures" : "Figures", null, say("protocol-text"),
        UI.figure("Figures", el("div", { class: "scroll" }, el("table", { id: "table", class: "figures" })), shown, null),
        el("p", { class: "small" }, "Per cent. ", el("b", { class: "best" }, "Best of each data set"), " marked; ± is the standard deviation over the repeats", data.paper.length ? "; last, the paper’s figure and the difference to it. " : ". ",
          el("sup", {}, "†"), " not all cells are done yet. ", el("sup", {}, "‡"), " less was run, or a remark: open the figure. Headings sort; figures open."),
        el("div", { id: "printed", class: "print-only" })),
      UI.section("ranks", "Average ranks", null, say("ranks-text"), place("ranks-picture", "picture")),
      UI.section("time", "Score against time", null, say(null, ["Seconds of one fit, without loading data and computing kernels, against the score. The line joins the columns that no other one beats in both. ",
        el("label", { class: "pick" }, "Data ", sets)]), place("time-picture", "picture")),
      UI.section("surfaces", "Parameters", null, say(null, "The score over two parameters, one panel for each value of the third."), place("surfaces-pictures")),
      data.reductions.length ? UI.section("less", "Exceptions", null, say(null, "Where a method is run with fewer repeats, a smaller grid or other parameters. The study declares these before it is run."),
        list("ul", "reductions", data.reductions.map(([set, method, note]) => [el("b", {}, `${method} on ${set}. `), note]))) : "",
      data.failures.length ? UI.section("failures", "Failures", "Fits that differ only by their repeat share a line.", el("div", { class: "scroll" }, el("table", { id: "failure-table", class: "plain" },
        el("thead", {}, el("tr", {}, ["Data", "Method", "Kernel and parameters", "Repeat", "What happened"].map((t) => el("th", {}, t)))),
        el("tbody", {}, data.failures.map((f) => el("tr", {}, el("td", { class: "name" }, f.dataset), el("td", { class: "name" }, f.method),
          el("td", {}, [f.kernel, parameters(f.parameters)].filter(Boolean).join("; ")), el("td", {}, f.seeds), el("td", { class: "wide" }, el("b", {}, f.status), `: ${f.reason}`))))))) : "",
      data.notes.length ? UI.section("paper-notes", "What does not fit together", null, say(null, "Figures that differ from the paper’s are to be read with these in mind."), list("ol", "notes", data.notes)) : "",
      UI.section("made", "How this page was made", null, UI.code(data.made.command), UI.facts(data.made.facts)));
    const dialog = el("dialog", { id: "cell", "aria-labelledby": "cell-title", onclick: (e) => { if (e.target === dialog) dialog.close(); } },
      el("form", { method: "dialog" }, el("button", { class: "close", "aria-label": "Close" }, "×")), el("h3", { id: "cell-title" }), el("div", { id: "cell-body" }));
    document.body.append(dialog);
  }

  function draw() {
    if (data.protocols.length) { drawTable(); drawRanks(); drawTime(); }
    byId("figures").hidden = !data.protocols.length;
    byId("time").hidden = byId("time").hidden || !data.protocols.length;
    drawSurfaces();
    for (const link of document.querySelectorAll(".bar nav a")) link.hidden = byId(link.getAttribute("href").slice(1)).hidden;
    for (const text of document.querySelectorAll("[data-ink]")) text.style.fill = text.getAttribute("data-ink");
  }
  let wide = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== wide) { wide = innerWidth; draw(); } });
  build();
  draw();
  UI.onTheme(draw);
  document.documentElement.dataset.ready = "yes";
})();
