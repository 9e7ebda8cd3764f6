"use strict";
// Where spans lie in the timeline: each track has lanes, in a lane no two spans overlap. So both the starts and the ends in a
// lane are sorted, everything visible is found by bisection, and what is narrower than a pixel is drawn as one.
const Lanes = (() => {
  // As deep as recursions are drawn; what lies deeper shares the last lane.
  const MOST = 4096;

  function build(trace) {
    const { spans, tracks } = trace;
    const open = tracks.map(() => []);
    const rows = tracks.map(() => []);
    const depths = new Uint16Array(spans.count);
    for (let row = 0; row < spans.count; row += 1) {
      const track = spans.track[row];
      const ends = open[track];
      // A child lies one lane below the deepest span that is still open.
      let depth = ends.length;
      while (depth > 0 && ends[depth - 1] <= spans.start[row]) depth -= 1;
      depth = Math.min(depth, MOST - 1);
      // Closed lanes above an open one keep their end, so that the depth is that of the nesting.
      ends.length = depth + 1;
      ends[depth] = Math.max(spans.end[row], ends[depth] ?? 0);
      (rows[track][depth] ??= []).push(row);
      depths[row] = depth;
    }
    const laid = tracks.map((track, index) => ({
      index, name: String(track.name ?? `track ${index}`), kind: track.kind, device: track.device ?? 0,
      lanes: rows[index].map((list) => lane(spans, list)),
    }));
    return { tracks: laid, depths };
  }

  function lane(spans, list) {
    const row = Int32Array.from(list);
    const start = new Float64Array(row.length);
    const end = new Float64Array(row.length);
    const before = new Float64Array(row.length + 1);
    for (let index = 0; index < row.length; index += 1) {
      start[index] = spans.start[row[index]];
      // In the deepest lane spans may overlap; there the earlier one is cut, so that the ends stay sorted.
      end[index] = spans.end[row[index]];
      if (index > 0 && end[index - 1] > start[index]) end[index - 1] = start[index];
      before[index + 1] = before[index] + spans.duration[row[index]];
    }
    return { row, start, end, before, matches: null };
  }

  // Calls `one` for each span of at least a pixel and `many` for each pixel of narrower ones, left to right.
  function visit(lane, from, to, pixel, one, many) {
    const { start, end } = lane;
    let index = Intervals.above(end, from);
    while (index < start.length && start[index] < to) {
      if (end[index] - start[index] >= pixel) {
        one(index);
        index += 1;
        continue;
      }
      let next = Intervals.atLeast(start, start[index] + pixel, index + 1);
      // Only the last of them can reach past the pixel; a wide one is drawn for itself.
      if (next - 1 > index && end[next - 1] - start[next - 1] >= pixel) next -= 1;
      many(index, next);
      index = next;
    }
  }

  // The span at a time, or the nearest one within `slack`.
  function at(lane, time, slack) {
    const index = Intervals.above(lane.end, time);
    if (index < lane.start.length && lane.start[index] <= time) return index;
    const right = index < lane.start.length ? lane.start[index] - time : Infinity;
    const left = index > 0 ? time - lane.end[index - 1] : Infinity;
    if (Math.min(left, right) > slack) return -1;
    return left < right ? index - 1 : index;
  }

  // Prefix counts of the spans that match a search, so that a merged pixel knows whether it holds one.
  function mark(tracks, matching) {
    for (const track of tracks) {
      for (const lane of track.lanes) {
        if (matching === null) {
          lane.matches = null;
          continue;
        }
        lane.matches = new Uint32Array(lane.row.length + 1);
        for (let index = 0; index < lane.row.length; index += 1) {
          lane.matches[index + 1] = lane.matches[index] + matching[lane.row[index]];
        }
      }
    }
  }

  return { build, visit, at, mark };
})();
