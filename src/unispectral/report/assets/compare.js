(() => {
  const d = UI.data, {el, number} = UI;
  const good = d.methods.filter(run => run.scores), failed = d.methods.filter(run => run.failure);
  const main = UI.shell({title: "Methods on " + d.table, lead: `${UI.count(good.length, "method")} with ${UI.count(d.n_clusters, "cluster")} each.`});
  main.append(UI.section("answer", d.verdict || "No method could cluster this table.", null, el("p", {}, d.columns),
    failed.length > 0 && UI.notes(failed.map(run => ({text: `${run.method} was not run: ${run.failure}`})))));
  if (good.length) {
    const keys = Object.keys(good[0].scores), digits = Object.fromEntries(keys.map(key => [key, good.some(run => Math.abs(run.scores[key]) >= 100) ? 0 : 3]));
    const cell = run => key => ({value: run.scores[key], spread: run.seeds > 1 ? run.spread[key] : null});
    const columns = [{label: "Method"}, {label: "Seconds", number: true, format: v => UI.fixed(v, 2)}, {label: "Seeds", number: true},
      ...keys.map((key, j) => ({label: d.heads[key], number: true, value: row => row[3 + j] && row[3 + j].value, text: row => row[3 + j].value,
        format: one => one.value === null ? "–" : UI.fixed(one.value, digits[key]) + (one.spread === null ? "" : " ± " + UI.fixed(one.spread, digits[key]))}))];
    const rows = good.map(run => [run.method, run.seconds, run.seeds, ...keys.map(cell(run))]);
    main.append(UI.section("scores", "Scores", "Best first; for all scores larger is better. Means over seeds, ± their standard deviation; a method that seeds do not change was run once.", UI.table({columns, rows, size: 50, id: "scores-table", name: "Scores"}).node));
    const names = good.map(run => run.method), W = 46, left = 90, top = 70;
    if (names.length > 1) {
      const art = UI.svg("svg", {class: "chart", viewBox: `0 0 ${left + W * names.length + 40} ${top + 26 * names.length + 6}`, role: "img", "aria-label": "Agreement of the methods"},
        names.map((name, j) => UI.svg("text", {transform: `translate(${left + W * j + 20} ${top - 8}) rotate(-45)`}, name)),
        names.map((one, i) => [UI.svg("text", {class: "strong", x: left - 8, y: top + 26 * i + 17, "text-anchor": "end"}, one), names.map((other, j) => {
          const value = d.agreement[one][other], fill = UI.amount(Math.max(0, value) * .8 + .1);
          const text = UI.svg("text", {x: left + W * j + W / 2 - 1, y: top + 26 * i + 17, "text-anchor": "middle"}, value.toFixed(2));
          text.style.fill = UI.inkOn(fill);
          return [UI.svg("rect", {x: left + W * j, y: top + 26 * i, width: W - 2, height: 24, rx: 3, fill, "data-tip": `${one} and ${other}: ${number(value)}`}), text];
        })]));
      art.style.width = left + W * names.length + 40 + "px";
      main.append(UI.section("agreement", "Agreement", "How far any two methods found the same clusters: 1 the same, 0 by chance (adjusted Rand index).",
        el("div", {class: "scroll"}, UI.figure("Agreement of the methods", art, () => [["method", ...names], ...names.map(one => [one, ...names.map(other => d.agreement[one][other])])]))));
    }
  }
  document.documentElement.dataset.ready = "yes";
})();
