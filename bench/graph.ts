import { spreadActivation } from '../coordinator/insight/knowledge/activation.ts'
import { findCoverage } from '../coordinator/insight/knowledge/queries/coverage.ts'
import { findCycles } from '../coordinator/insight/knowledge/queries/find-cycles.ts'
import { findOwners } from '../coordinator/insight/knowledge/queries/find-owner.ts'
import { findPath } from '../coordinator/insight/knowledge/queries/find-path.ts'
import { computeGraphStats } from '../coordinator/insight/knowledge/queries/graph-stats.ts'
import { reachDependencies } from '../coordinator/insight/knowledge/queries/reach.ts'
import { takePage } from '../coordinator/insight/knowledge/take-page.ts'
import { TenantGraph } from '../coordinator/insight/knowledge/tenant-graph.ts'
import { translateConcept } from '../coordinator/insight/knowledge/translate.ts'
import { createSlices } from '../coordinator/kernel/base/time-slices.ts'
import { measureRecall } from './graph/recall.ts'
import { createSyntheticFacts, wordAt } from './graph/synthetic-facts.ts'
import { percentile, report, round } from './measure.ts'

const NODES = 20_000
const EDGES = 60_000
const RUNS = 30

/**
 * Time of each query and memory of a graph with 20,000 nodes and 60,000 edges, the longest stall
 * while it is built and refreshed; then recall at 5 over the written layer in `graph/organisation.ts`.
 *
 *   npm run bench -- graph
 */
export const main = async (): Promise<void> => {
  global.gc?.()
  const before = process.memoryUsage().heapUsed
  const facts = createSyntheticFacts(NODES, EDGES)
  const graph = new TenantGraph()
  const built = await measureApply(pause => graph.apply(facts, pause))
  const copy = structuredClone(facts)
  const refreshed = await measureApply(pause => graph.apply(copy, pause))
  const query = await measureQueries(graph)
  global.gc?.()
  const memory = (process.memoryUsage().heapUsed - before) / 1024 / 1024
  report('graph-queries', { nodes: graph.graph.order, edges: graph.graph.size, runs: RUNS }, query)
  report('graph-memory', { heap_mib: round(memory) }, [
    { work: 'build', ...built, heap_mib: round(memory) },
    { work: 'refresh without changes', ...refreshed, heap_mib: round(memory) },
  ])
  report('graph-recall', {}, await measureRecall())
}

/**
 * Measures the duration of an apply and its longest step between two pauses, during which the event
 * loop serves nothing else. Both are CPU time, because wall time on a busy machine contains the time
 * of other processes.
 */
const measureApply = async (apply: (pause: () => Promise<void>) => Promise<void>) => {
  const startedMs = readCpuMs()
  let sliceMs = startedMs
  let longestMs = 0
  const endSlice = (): void => {
    const now = readCpuMs()
    longestMs = Math.max(longestMs, now - sliceMs)
    sliceMs = now
  }
  const pause = createSlices()
  await apply(async () => {
    const isYielding = pause()
    endSlice()
    await isYielding
    sliceMs = readCpuMs()
  })
  endSlice()
  return { cpu_ms: round(readCpuMs() - startedMs), longest_step_ms: round(longestMs) }
}

const readCpuMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

const measureQueries = async (graph: TenantGraph) => {
  const ids = graph.graph.nodes()
  const idAt = (n: number): string => ids[(n * 7919) % ids.length] as string
  const now = Date.now()
  const seeds = (n: number, count: number) =>
    new Map(Array.from({ length: count }, (_, k) => [idAt(n + k * 31), 1]))
  const none = async () => undefined
  const queries: Record<string, (n: number) => unknown> = {
    'neural-query, 1 seed, 2 hops': n => spreadActivation(graph, seeds(n, 1), { hops: 2, now }),
    'neural-query, text, 2 hops': n => {
      const hits = graph.index.find(`${wordAt(n)} ${wordAt(n + 1)}`, 5)
      const found = new Map(hits.map(({ id, score }) => [id, score]))
      return spreadActivation(graph, found, { hops: 2, now })
    },
    'neural-query, 1 seed, 6 hops': n => spreadActivation(graph, seeds(n, 1), { hops: 6, now }),
    'graph-activate, 16 seeds, 2 hops': n =>
      spreadActivation(graph, seeds(n, 16), { hops: 2, now }),
    'text search': n => graph.index.find(`${wordAt(n)} ${wordAt(n + 1)}`, 20),
    'text search, misspelt': n => graph.index.find(`${wordAt(n)}x`, 20),
    'text search, a word of every node': () => graph.index.find('thing', 20),
    'layer-query deps': n => reachDependencies(graph, idAt(n), 'out'),
    'layer-query consumers': n => reachDependencies(graph, idAt(n), 'in'),
    'layer-query path': n => findPath(graph, idAt(n), idAt(n + 1000)),
    'layer-query orphans': () =>
      graph.adjacency.nodes.filter((_node, number) => graph.adjacency.degree(number) === 0),
    'layer-query cycles': () => findCycles(graph, () => true),
    'layer-query coverage': () => findCoverage(graph, 'layer-1', 'layer-2'),
    'layer-query owner': n => findOwners(graph, idAt(n)),
    'layer-query stats': () => computeGraphStats(graph),
    'graph-nodes, one page': n => takePage(graph.graph.nodes(), { after: idAt(n), limit: 100 }),
    'graph-edges, one page': n => takePage(graph.adjacency.keys, { after: idAt(n), limit: 100 }),
    'synesthetic-translate, text': n => {
      const asked = { concept: idAt(n), domain: 'layer-2', topK: 5 }
      return translateConcept(graph, asked, none)
    },
  }
  const rows = []
  for (const [name, run] of Object.entries(queries)) {
    for (let n = 0; n < 5; n++) await run(n)
    const times: number[] = []
    for (let n = 0; n < RUNS; n++) {
      const cpu = process.cpuUsage()
      const startedMs = performance.now()
      await run(n)
      const spent = process.cpuUsage(cpu)
      // on a busy machine the wall time contains the time of others
      times.push(Math.min(performance.now() - startedMs, (spent.user + spent.system) / 1000))
    }
    rows.push({
      query: name,
      p50_ms: round(percentile(times, 50)),
      p99_ms: round(percentile(times, 99)),
      max_ms: round(Math.max(...times)),
    })
  }
  return rows
}
