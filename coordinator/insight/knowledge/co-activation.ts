import type { Activated } from './activation.ts'
import { edgeKey } from './graph-model.ts'
import type { TenantGraph } from './tenant-graph.ts'

/** Number of the strongest results, which count as active together. */
const STRONGEST = 16

/**
 * Gains of edges from 0 to 1: the product of the activations of the two ends, relative to the
 * strongest node (Hebb's rule). The edges between the strongest results gain, and those on the paths
 * to them.
 */
export const listGains = (
  { graph }: Pick<TenantGraph, 'graph'>,
  activated: readonly Activated[],
): Map<string, number> => {
  const most = activated[0]?.activation ?? 1
  const levels = new Map(activated.map(({ id, activation }) => [id, activation / most]))
  const strongest = activated.slice(0, STRONGEST)
  const gains = new Map<string, number>()
  const addGain = (key: string, source: string, target: string): void => {
    gains.set(key, (levels.get(source) ?? 0) * (levels.get(target) ?? 0))
  }
  for (const { id: source, path } of strongest) {
    for (const step of path) addGain(edgeKey(step), step.source, step.target)
    for (const { id: target } of strongest)
      if (graph.hasDirectedEdge(source, target))
        for (const key of graph.directedEdges(source, target)) addGain(key, source, target)
  }
  return gains
}
