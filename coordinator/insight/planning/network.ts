import { refuseInput } from './refuse-input.ts'

/**
 * Dependency types, from predecessor to successor: finish to start, start to start, finish to
 * finish, start to finish.
 */
export const LINK_TYPES = ['FS', 'SS', 'FF', 'SF'] as const
export type LinkType = (typeof LINK_TYPES)[number]

/** A constraint: the end of `task` that the type names, and `lagDays` later that of its successor. */
interface Dependency {
  id: string
  type: LinkType
  /** Working days; negative for a lead. */
  lagDays: number
}

export interface PlannedTask {
  id: string
  /** Working days; 0 for a milestone. The most likely value where there are three. */
  durationDays: number
  optimisticDays?: number | undefined
  pessimisticDays?: number | undefined
  dependsOn: readonly Dependency[]
}

/**
 * Tasks and links of a project, as numbers. Tasks are indexes in the order of the input. Links are
 * sorted so that all links into a task come before all links out of it: one pass from the first to
 * the last computes early times, and one pass back computes late ones.
 */
export interface Network {
  durations: Float64Array
  /** Indexes of tasks, each after all of its predecessors. */
  order: Int32Array
  /** Predecessor of each link. */
  from: Int32Array
  /** Successor of each link. */
  to: Int32Array
  /** 1 for a link that leaves the finish of its predecessor. */
  leavesFinish: Uint8Array
  /** 1 for a link that arrives at the finish of its successor. */
  arrivesFinish: Uint8Array
  /** Working days. */
  lags: Float64Array
}

interface Link extends Dependency {
  from: number
  to: number
}

/**
 * Compiles tasks to a network.
 * @throws ShoalError `invalid_request` with the field, for an id that is used twice or unknown, a
 *   link that is given twice, and a cycle, whose tasks the message names.
 */
export const buildNetwork = (tasks: readonly PlannedTask[]): Network => {
  const links = tasks.flatMap(linksInto(indexById(tasks)))
  const order = sortTasks(tasks, links)
  const rank = new Int32Array(tasks.length)
  order.forEach((task, place) => {
    rank[task] = place
  })
  links.sort((a, b) => (rank[a.to] as number) - (rank[b.to] as number))
  return {
    durations: Float64Array.from(tasks, ({ durationDays }) => durationDays),
    order,
    from: Int32Array.from(links, ({ from }) => from),
    to: Int32Array.from(links, ({ to }) => to),
    leavesFinish: Uint8Array.from(links, ({ type }) => Number(type[0] === 'F')),
    arrivesFinish: Uint8Array.from(links, ({ type }) => Number(type[1] === 'F')),
    lags: Float64Array.from(links, ({ lagDays }) => lagDays),
  }
}

const indexById = (tasks: readonly PlannedTask[]): ReadonlyMap<string, number> => {
  const indexes = new Map<string, number>()
  tasks.forEach(({ id }, at) => {
    if (indexes.has(id)) refuseInput(`tasks.${at}.id`, `${id} is used twice`)
    indexes.set(id, at)
  })
  return indexes
}

const linksInto =
  (indexes: ReadonlyMap<string, number>) =>
  ({ dependsOn }: PlannedTask, to: number): Link[] => {
    const seen = new Set<string>()
    return dependsOn.map((dependency, at) => {
      const { id, type } = dependency
      const param = `tasks.${to}.depends_on.${at}`
      const from = indexes.get(id) ?? refuseInput(param, `no task has the id ${id}`)
      const name = `${type} ${id}`
      if (seen.has(name)) refuseInput(param, `the ${type} dependency on ${id} is given twice`)
      seen.add(name)
      return { ...dependency, from, to }
    })
  }

/** Kahn's algorithm: tasks whose predecessors are all placed, in the order of the input. */
const sortTasks = (tasks: readonly PlannedTask[], links: readonly Link[]): Int32Array => {
  const open = new Int32Array(tasks.length)
  const successors = tasks.map((): number[] => [])
  for (const { from, to } of links) {
    open[to] = (open[to] as number) + 1
    successors[from]?.push(to)
  }
  const order = [...tasks.keys()].filter(task => open[task] === 0)
  for (const task of order)
    for (const next of successors[task] ?? []) {
      open[next] = (open[next] as number) - 1
      if (open[next] === 0) order.push(next)
    }
  if (order.length < tasks.length) refuseCycle(tasks, links, open)
  return Int32Array.from(order)
}

/** Every task that could not be placed has such a predecessor, so a walk back runs into a cycle. */
const refuseCycle = (
  tasks: readonly PlannedTask[],
  links: readonly Link[],
  open: Int32Array,
): never => {
  const predecessor = new Map<number, number>()
  for (const { from, to } of links) if (open[from] !== 0) predecessor.set(to, from)
  const places = new Map<number, number>()
  const walk: number[] = []
  let task = open.findIndex(count => count > 0)
  while (!places.has(task)) {
    places.set(task, walk.length)
    walk.push(task)
    task = predecessor.get(task) as number
  }
  const cycle = [...walk.slice(places.get(task)), task].reverse()
  const names = cycle.map(each => tasks[each]?.id)
  const shown = names.length > 12 ? [...names.slice(0, 6), '...', ...names.slice(-5)] : names
  return refuseInput(
    `tasks.${task}.depends_on`,
    `the dependencies form a cycle: ${shown.join(' -> ')}`,
  )
}
