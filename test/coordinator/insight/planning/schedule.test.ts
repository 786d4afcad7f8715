import fc from 'fast-check'
import t from 'tap'
import { computeTimes } from '../../../../coordinator/insight/planning/critical-path.ts'
import { buildNetwork, type PlannedTask } from '../../../../coordinator/insight/planning/network.ts'
import { createSchedule, type Schedule } from '../../../../coordinator/insight/planning/schedule.ts'
import {
  computeExpectedDays,
  estimateOf,
  normalCdf,
} from '../../../../coordinator/insight/planning/three-point.ts'
import { construction, paper, projectArbitrary, type Row, tasksOf } from './networks.ts'

const scheduleOf = (tasks: readonly PlannedTask[]): Schedule =>
  createSchedule(tasks, undefined, { workingDays: ['mon'], holidays: [] })

const idsOf = (tasks: readonly PlannedTask[], path: readonly number[] = []): string =>
  path.map(at => tasks[at]?.id).join('')

const withExpected = (tasks: readonly PlannedTask[]): PlannedTask[] =>
  tasks.map(task => ({ ...task, durationDays: computeExpectedDays(estimateOf(task)) }))

t.test('textbook projects have their published duration, critical path and slack', async t => {
  for (const [title, tasks, days, path, slack] of [
    // Hillier and Lieberman: 44 weeks
    ['Reliable', construction, 44, 'ABCEFJLN', [0, 0, 0, 4, 0, 0, 4, 4, 2, 0, 1, 0, 4, 0]],
    // Heizer and Render: 15 weeks
    ['Milwaukee Paper', paper, 15, 'ACEGH', [0, 1, 0, 1, 0, 6, 0, 0]],
  ] as const) {
    const { times, path: found } = scheduleOf(withExpected(tasks))
    t.equal(times.durationDays, days, title)
    t.equal(idsOf(tasks, found), path, title)
    t.strictSame([...times.totalFloat], slack, title)
  }
})

t.test('a published network is shorter with links from start to start', async t => {
  // Network Construction - Critical Path Method, and - Precedence Diagram Method, the two parts of a
  // course module (slideserve.com); paths of 41 and 38 days
  const rows: Row[] = [
    ...([
      ['A', 2],
      ['B', 10, 'A'],
      ['C', 13, 'A'],
      ['D', 12, 'A'],
      ['E', 12, 'B'],
    ] as Row[]),
    ...([
      ['F', 7, 'B'],
      ['G', 10, 'D'],
      ['H', 16, 'D'],
      ['I', 6, 'F'],
    ] as Row[]),
    ...([
      ['J', 12, 'C', 'G'],
      ['K', 5, 'I'],
      ['L', 8, 'E', 'K'],
      ['M', 5, 'H'],
    ] as Row[]),
    ['N', 3, 'J', 'L', 'M'],
  ]
  const startToStart: Record<string, Row> = {
    B: ['B', 10, 'A:SS'],
    J: ['J', 12, 'C', 'G:SS'],
    K: ['K', 5, 'I:SS'],
    L: ['L', 8, 'E', 'I', 'K'],
    N: ['N', 3, 'G', 'J', 'L', 'M'],
  }
  for (const [tasks, days, path] of [
    [tasksOf(rows), 41, 'ABFIKLN'],
    [tasksOf(rows.map(row => startToStart[row[0]] ?? row)), 38, 'ADHMN'],
  ] as const) {
    const found = scheduleOf(tasks)
    t.equal(found.times.durationDays, days)
    t.equal(idsOf(tasks, found.path), path)
  }
})

t.test('textbook projects have their published PERT variance and probability', async t => {
  const reliable = scheduleOf(construction).pert
  t.match(reliable, { meanDays: 44, deviationDays: 3 })
  t.equal(idsOf(construction, reliable?.path), 'ABCEFJLN')
  // Hillier and Lieberman: at most 47 weeks with 0.84
  t.ok(Math.abs(normalCdf(47, 44, 3) - 0.8413) < 0.0001)

  const milwaukee = scheduleOf(paper).pert
  t.ok(Math.abs((milwaukee?.deviationDays as number) ** 2 - 3.11) < 0.005)
  // Heizer and Render: at most 16 weeks with 0.7157, by a table and a z of 0.57
  t.ok(Math.abs(normalCdf(16, 15, milwaukee?.deviationDays as number) - 0.7157) < 0.0015)
})

t.test('of several critical paths PERT takes the one with the largest variance', async t => {
  const rows: Row[] = [
    ['a', 2],
    ['b', 6, 'a'],
    ['c', 6, 'a'],
    ['d', 1, 'b', 'c'],
  ]
  // a sixth of the range is the deviation: 1 for b, 2 for c, 0 for the others
  const range: Record<string, number> = { b: 3, c: 6 }
  const tasks = tasksOf(rows).map(task => {
    const half = range[task.id] ?? 0
    const { durationDays } = task
    return { ...task, optimisticDays: durationDays - half, pessimisticDays: durationDays + half }
  })
  const { pert } = scheduleOf(tasks)
  t.equal(idsOf(tasks, pert?.path), 'acd')
  t.match(pert, { meanDays: 9, deviationDays: 2 })
})

t.test('a task whose start drives the next one adds no variance to PERT', async t => {
  const estimate = { optimisticDays: 1, durationDays: 4, pessimisticDays: 7 }
  for (const [type, lagDays, meanDays, variance] of [
    ['SS', 3, 10, 1],
    ['FS', 0, 11, 2],
    ['FF', 3, 10, 1],
  ] as const) {
    const after = (id: string, link: 'FS' | 'SS' | 'FF', lag: number) => [
      { id, type: link, lagDays: lag },
    ]
    const tasks = [
      { id: 'a', ...estimate, dependsOn: [] },
      { id: 'b', ...estimate, dependsOn: after('a', type === 'FF' ? 'FF' : 'SS', 3) },
      { id: 'c', ...estimate, dependsOn: after('b', type, lagDays) },
    ]
    const { pert } = scheduleOf(tasks)
    t.equal(idsOf(tasks, pert?.path), 'abc')
    t.match(pert, { meanDays, deviationDays: Math.sqrt(variance) }, type)
  }
})

t.test('each type of link and each sign of a lag sets the start of the successor', async t => {
  for (const [link, start] of [
    ['a', 4],
    ['a:FS+2', 6],
    ['a:FS-3', 1],
    ['a:SS', 0],
    ['a:SS+2', 2],
    ['a:FF', 2],
    ['a:FF+3', 5],
    ['a:SF+3', 1],
    ['a:SF+1', 0],
    ['a:FS-9', 0],
  ] as const) {
    const { earlyStart } = computeTimes(
      buildNetwork(
        tasksOf([
          ['a', 4],
          ['b', 2, link],
        ]),
      ),
    )
    t.equal(earlyStart[1], start, link)
  }
})

t.test('floats account for links other than finish to start', async t => {
  const rows: Row[] = [
    ['survey', 2],
    ['dig', 5, 'survey'],
    ['lay', 8, 'dig:SS+1', 'dig:FF+2'],
    ['fill', 3, 'lay:FF+1'],
    ['permit', 4],
    ['open', 0, 'fill', 'permit:FS+2'],
  ]
  const { times, path } = scheduleOf(tasksOf(rows))
  t.equal(times.durationDays, 12)
  t.strictSame([...times.earlyStart], [0, 2, 3, 9, 0, 12])
  t.strictSame([...times.totalFloat], [0, 0, 0, 0, 6, 0])
  t.strictSame([...times.freeFloat], [0, 0, 0, 0, 6, 0])
  t.equal(path.map(at => rows[at]?.[0]).join(' '), 'survey dig lay fill open')
})

t.test('a cycle, an unknown predecessor and a doubled id or link are refused by name', async t => {
  for (const [rows, param, message] of [
    [
      [
        ['a', 1],
        ['b', 1, 'a', 'd'],
        ['c', 1, 'b:SS'],
        ['d', 1, 'c'],
      ],
      /^tasks\.\d\.depends_on$/,
      /cycle: (b -> c -> d -> b|c -> d -> b -> c|d -> b -> c -> d)$/,
    ],
    [[['a', 1, 'a']], 'tasks.0.depends_on', /cycle: a -> a$/],
    [
      [
        ['a', 1],
        ['b', 1, 'x'],
      ],
      'tasks.1.depends_on.0',
      /no task has the id x$/,
    ],
    [
      [
        ['a', 1],
        ['a', 1],
      ],
      'tasks.1.id',
      /a is used twice$/,
    ],
    [
      [
        ['a', 1],
        ['b', 1, 'a', 'a:FS+2'],
      ],
      'tasks.1.depends_on.1',
      /FS dependency on a/,
    ],
  ] as const)
    t.throws(() => buildNetwork(tasksOf(rows as readonly Row[])), {
      code: 'invalid_request',
      param,
      message,
    })
})

t.test('floats are never negative, and free float is never more than total float', async () => {
  fc.assert(
    fc.property(projectArbitrary(), tasks => {
      const { totalFloat, freeFloat } = scheduleOf(tasks).times
      return totalFloat.every(
        (float, at) => (freeFloat[at] as number) >= 0 && (freeFloat[at] as number) <= float,
      )
    }),
  )
})

t.test('every link holds at the early and at the late times', async () => {
  fc.assert(
    fc.property(projectArbitrary(), tasks => {
      const { times, network } = scheduleOf(tasks)
      return [times.earlyStart, times.lateStart].every(starts =>
        tasks.every((task, to) =>
          task.dependsOn.every(({ id, type, lagDays }) => {
            const from = tasks.findIndex(each => each.id === id)
            const finish = (at: number) =>
              (starts[at] as number) + (network.durations[at] as number)
            const left = type[0] === 'F' ? finish(from) : (starts[from] as number)
            const arrived = type[1] === 'F' ? finish(to) : (starts[to] as number)
            return arrived >= left + lagDays
          }),
        ),
      )
    }),
  )
})

t.test('the tasks of the critical path have no float, and its length is the duration', async () => {
  fc.assert(
    fc.property(projectArbitrary(fc.constant('FS')), tasks => {
      const { times, path } = scheduleOf(tasks)
      const length = path.reduce((sum, task, at) => {
        const before = tasks[path[at - 1] as number]
        const lag = tasks[task]?.dependsOn.find(({ id }) => id === before?.id)?.lagDays ?? 0
        return sum + lag + (tasks[task]?.durationDays as number)
      }, 0)
      return length === times.durationDays && path.every(task => times.totalFloat[task] === 0)
    }),
  )
  fc.assert(
    fc.property(projectArbitrary(), tasks => {
      const { times, path } = scheduleOf(tasks)
      const last = path.at(-1) as number
      const end = (times.earlyStart[last] as number) + (tasks[last]?.durationDays as number)
      return (
        times.earlyStart[path[0] as number] === 0 &&
        end === times.durationDays &&
        path.every(task => times.totalFloat[task] === 0)
      )
    }),
  )
})

t.test('a longer lag of a finish-to-start link never shortens the project', async () => {
  fc.assert(
    fc.property(projectArbitrary(), fc.nat(), fc.integer({ min: 1, max: 9 }), (tasks, at, more) => {
      const links = tasks.flatMap(({ dependsOn }) => dependsOn).filter(({ type }) => type === 'FS')
      const chosen = links[at % links.length]
      fc.pre(chosen !== undefined)
      const longer = tasks.map(task => ({
        ...task,
        dependsOn: task.dependsOn.map(link =>
          link === chosen ? { ...link, lagDays: link.lagDays + more } : link,
        ),
      }))
      return scheduleOf(longer).times.durationDays >= scheduleOf(tasks).times.durationDays
    }),
  )
})
