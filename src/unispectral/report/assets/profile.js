(() => {
  const {el, svg, number, percent, count} = UI, d = UI.data;
  const main = UI.shell({title: d.title, lead: `${count(d.rows.n, "row")}, ${count(d.columns.length, "column")}: what they are, before they are clustered.`});
  const role = name => d.columns.filter(column => column.role === name);
  const doubtful = role("use").filter(column => column.doubt);
  main.append(UI.tiles([
    {label: "Clustered by", value: number(role("use").length), note: doubtful.length ? `${number(doubtful.length)} doubtful` : "none doubtful"},
    {label: "Shown beside", value: number(role("supplementary").length), note: "do not make the clusters"},
    {label: "Left out", value: number(role("leave out").length), note: role("id").length ? `and “${role("id")[0].name}” names the rows` : null},
    {label: "Rows that repeat others", value: number(d.rows.duplicates), note: d.rows.nearly_empty.length ? `${count(d.rows.nearly_empty.length, "row")} mostly empty` : null},
  ]));
  if (d.notes.length) main.append(UI.notes(d.notes.map(text => ({text}))));

  // A histogram of numbers, or the most frequent texts as bars.
  function shape(column) {
    if (column.bars.length < 2) return null;
    const top = Math.max(...column.bars), width = 240 / column.bars.length;
    const gap = Math.min(2, width / 5);
    return [
      svg("svg", {class: "shape", viewBox: "0 0 240 46", preserveAspectRatio: "none", role: "img", "aria-label": `How the values of ${column.name} are spread`},
        column.bars.map((height, at) => svg("rect", {x: at * width + gap / 2, y: 46 - 44 * height / top, width: width - gap, height: 44 * height / top, class: "bar-of"}))),
      column.ends.length > 0 && el("div", {class: "ends"}, column.ends.map(text => el("span", {title: text}, text)))];
  }
  function paint() {
    const colour = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
    document.querySelectorAll(".bar-of").forEach(bar => bar.setAttribute("fill", colour));
  }
  function card(column) {
    const facts = [column.missing ? `${percent(column.missing)} missing` : null, count(column.distinct, "value"), column.treated || null].filter(Boolean);
    return el("article", {class: column.role === "use" ? "column" : "column out"},
      el("div", {class: "head"}, el("h3", {}, column.name), el("span", {class: "kind"}, column.kind)),
      el("p", {}, `It ${column.reason}.`.replace("It as asked for", "As asked for")),
      column.doubt && column.role === "use" ? el("p", {class: "doubt"}, `Doubtful: it ${column.doubt}.`) : null,
      shape(column),
      el("p", {class: "small"}, facts.join(" · ")));
  }
  const groups = [["used", "Clustered by", "use", null],
    ["shown", "Shown beside the clusters", "supplementary", "They say when a row was, or which it is; the clusters are described by them, and not made by them."],
    ["out", "Left out", "leave out", null], ["names", "Names of the rows", "id", null]];
  for (const [id, title, name, lead] of groups) {
    const found = role(name);
    if (found.length) main.append(UI.section(id, title, lead, el("div", {class: "columns"}, found.map(card))));
  }
  main.append(UI.section("change", "How to change it", "These options of unispectral cluster say otherwise.", UI.facts([
    ["--use NAMES", "cluster by these columns, too"], ["--leave-out NAMES", "do not"], ["--supplementary NAMES", "show them beside the clusters"],
    ["--id NAME", "names of the rows"], ["--order 'NAME=least,…,most'", "put answers in order"], ["--scale log", "or rank, robust, standard, none"],
    ["--missing drop", "leave rows with gaps out, or refuse them"], ["--geo LAT,LON", "distances on the Earth"]])));
  paint();
  new MutationObserver(paint).observe(document.documentElement, {attributes: true, attributeFilter: ["data-theme"]});
  document.documentElement.dataset.ready = "yes";
})();
