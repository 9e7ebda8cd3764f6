"use strict";
// Spans merged by the path of their names: the tree behind the flame graph. A kernel on a stream lies under the evaluation that
// queued it, so the children of a node may take longer than it did; the node is then as wide as they are.
const Stacks = (() => {
  function build(trace) {
    const { spans } = trace;
    const tree = { name: ["whole run"], colour: ["scope"], kind: [-1], parent: [-1], count: [1], own: [0], children: [[]], row: [-1] };
    const index = new Map();
    const node = new Int32Array(spans.count).fill(-1);
    const chain = [];
    for (let row = 0; row < spans.count; row += 1) {
      // The enclosing span usually comes first; where it does not, the chain up to a known one is walked.
      for (let at = row; at >= 0 && node[at] < 0; at = spans.parent[at]) chain.push(at);
      while (chain.length > 0) {
        const at = chain.pop();
        const parent = spans.parent[at] >= 0 ? Math.max(0, node[spans.parent[at]]) : 0;
        const colour = Trace.colour(trace, at);
        const key = `${parent} ${spans.name[at]} ${colour}`;
        let found = index.get(key);
        if (found === undefined) {
          found = tree.name.length;
          index.set(key, found);
          tree.name.push(Trace.string(trace, spans.name[at]));
          tree.colour.push(colour);
          tree.kind.push(spans.kind[at]);
          tree.parent.push(parent);
          tree.count.push(0);
          tree.own.push(0);
          tree.children.push([]);
          tree.row.push(at);
          tree.children[parent].push(found);
        }
        node[at] = found;
        tree.count[found] += 1;
        tree.own[found] += spans.duration[at];
      }
    }
    measure(tree);
    return tree;
  }

  // Totals from the leaves up, then places from the root down: widest child first. A node comes after its parent.
  function measure(tree) {
    const nodes = tree.name.length;
    const below = new Float64Array(nodes);
    tree.total = new Float64Array(nodes);
    tree.self = new Float64Array(nodes);
    tree.left = new Float64Array(nodes);
    tree.depth = new Int32Array(nodes);
    for (let at = nodes - 1; at >= 0; at -= 1) {
      tree.total[at] = Math.max(tree.own[at], below[at]);
      tree.self[at] = Math.max(0, tree.own[at] - below[at]);
      if (at > 0) below[tree.parent[at]] += tree.total[at];
    }
    for (let at = 0; at < nodes; at += 1) {
      let left = tree.left[at];
      tree.children[at].sort((one, other) => tree.total[other] - tree.total[one]);
      for (const child of tree.children[at]) {
        tree.left[child] = left;
        tree.depth[child] = tree.depth[at] + 1;
        left += tree.total[child];
      }
    }
    tree.deepest = tree.depth.reduce((most, depth) => Math.max(most, depth), 0);
  }

  // The innermost names, outermost first; those further out of a deep recursion are one.
  function path(tree, at, most = 24) {
    const names = [];
    let node = at;
    for (; node > 0 && names.length < most; node = tree.parent[node]) names.push(tree.name[node]);
    if (node > 0) names.push("…");
    return names.reverse();
  }

  return { build, path };
})();
