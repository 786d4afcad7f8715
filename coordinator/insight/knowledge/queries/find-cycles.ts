import { isDependency } from '../graph-model.ts'
import type { TenantGraph } from '../tenant-graph.ts'

interface Frame {
  node: number
  /** Next place to look at. */
  place: number
  end: number
  needsItself: boolean
}

const UNSEEN = -1

/**
 * Groups of nodes that need each other: the strongly connected components of the
 * dependencies with more than one node, or with an edge to itself (Tarjan, SIAM Journal on Computing
 * 1 (2), 1972; without recursion). Largest first.
 */
export const findCycles = (
  { adjacency }: Pick<TenantGraph, 'adjacency'>,
  accepts: (id: string) => boolean,
): string[][] => {
  const size = adjacency.nodes.length
  const order = new Int32Array(size).fill(UNSEEN)
  const low = new Int32Array(size)
  const isOpen = new Uint8Array(size)
  const isAccepted = Uint8Array.from(adjacency.nodes, ({ id }) => (accepts(id) ? 1 : 0))
  const needs = Uint8Array.from(adjacency.edges, ({ relation }) => (isDependency(relation) ? 1 : 0))
  const open: number[] = []
  const cycles: string[][] = []
  let seen = 0

  const enter = (node: number): Frame => {
    order[node] = seen
    low[node] = seen++
    open.push(node)
    isOpen[node] = 1
    const { from, to } = adjacency.placesOf(node)
    return { node, place: from, end: to, needsItself: false }
  }
  const leave = ({ node, needsItself }: Frame): void => {
    if (low[node] !== order[node]) return
    const group = open.splice(open.lastIndexOf(node))
    for (const member of group) isOpen[member] = 0
    if (group.length > 1 || needsItself) cycles.push(group.map(member => adjacency.node(member).id))
  }
  const lower = (node: number, to: number | undefined): void => {
    low[node] = Math.min(low[node] as number, to as number)
  }

  for (let start = 0; start < size; start++) {
    if (order[start] !== UNSEEN || isAccepted[start] === 0) continue
    const frames = [enter(start)]
    for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
      if (frame.place === frame.end) {
        leave(frame)
        frames.pop()
        const parent = frames.at(-1)
        if (parent !== undefined) lower(parent.node, low[frame.node])
        continue
      }
      const place = frame.place++
      const other = adjacency.others[place] as number
      const isUsed = adjacency.isOut[place] === 1 && needs[adjacency.edgeAt[place] as number] === 1
      if (!isUsed || isAccepted[other] === 0) continue
      if (other === frame.node) frame.needsItself = true
      if (order[other] === UNSEEN) frames.push(enter(other))
      else if (isOpen[other] === 1) lower(frame.node, order[other])
    }
  }
  return cycles.toSorted((a, b) => b.length - a.length)
}
