import fc from 'fast-check'
import type { LinkType, PlannedTask } from '../../../../coordinator/insight/planning/network.ts'

/** `b` after `a` by one link: `['b', 3, 'a:SS+2']`. An id alone is finish to start without a lag. */
export type Row = readonly [id: string, days: number, ...after: string[]]

export const tasksOf = (rows: readonly Row[]): PlannedTask[] =>
  rows.map(([id, durationDays, ...after]) => ({ id, durationDays, dependsOn: after.map(linkOf) }))

const linkOf = (text: string) => {
  const [, id = '', type = 'FS', lag = '0'] = /^(\w+)(?::(..)([+-][\d.]+)?)?$/.exec(text) ?? []
  return { id, type: type as LinkType, lagDays: Number(lag) }
}

/**
 * The Reliable Construction Co. project of Hillier and Lieberman, Introduction to Operations
 * Research, chapter on project management: optimistic, most likely and pessimistic weeks, and
 * predecessors.
 */
const CONSTRUCTION: readonly (readonly [string, number, number, number, string])[] = [
  ['A', 1, 2, 3, ''],
  ['B', 2, 3.5, 8, 'A'],
  ['C', 6, 9, 18, 'B'],
  ['D', 4, 5.5, 10, 'C'],
  ['E', 1, 4.5, 5, 'C'],
  ['F', 4, 4, 10, 'E'],
  ['G', 5, 6.5, 11, 'D'],
  ['H', 5, 8, 17, 'EG'],
  ['I', 3, 7.5, 9, 'C'],
  ['J', 3, 9, 9, 'FI'],
  ['K', 4, 4, 4, 'J'],
  ['L', 1, 5.5, 7, 'J'],
  ['M', 1, 2, 3, 'H'],
  ['N', 5, 5.5, 9, 'KL'],
]

/**
 * The project Milwaukee Paper of Heizer and Render, Operations Management, chapter on project
 * management, in the same form.
 */
const PAPER: typeof CONSTRUCTION = [
  ['A', 1, 2, 3, ''],
  ['B', 2, 3, 4, ''],
  ['C', 1, 2, 3, 'A'],
  ['D', 2, 4, 6, 'AB'],
  ['E', 1, 4, 7, 'C'],
  ['F', 1, 2, 9, 'C'],
  ['G', 3, 4, 11, 'DE'],
  ['H', 1, 2, 3, 'FG'],
]

const estimated = (rows: typeof CONSTRUCTION): PlannedTask[] =>
  rows.map(([id, optimisticDays, durationDays, pessimisticDays, after]) => ({
    ...{ id, optimisticDays, durationDays, pessimisticDays },
    dependsOn: [...after].map(linkOf),
  }))
export const construction = estimated(CONSTRUCTION)
export const paper = estimated(PAPER)

const typeArbitrary = fc.constantFrom<LinkType[]>('FS', 'SS', 'FF', 'SF')

/** Acyclic projects with all types of links, leads and milestones; tasks are in a shuffled order. */
export const projectArbitrary = (types = typeArbitrary): fc.Arbitrary<PlannedTask[]> =>
  fc
    .array(
      fc.record({
        days: fc.integer({ min: 0, max: 12 }),
        less: fc.integer({ min: 0, max: 12 }),
        more: fc.integer({ min: 0, max: 12 }),
        links: fc.array(
          fc.record({
            back: fc.nat(30),
            type: types,
            lag: fc.integer({ min: -8, max: 8 }),
          }),
          { maxLength: 4 },
        ),
      }),
      { minLength: 1, maxLength: 25 },
    )
    .map(rows =>
      rows.map(({ days, less, more, links }, at) => ({
        id: `t${at}`,
        durationDays: days,
        optimisticDays: Math.max(0, days - less),
        pessimisticDays: days + more,
        dependsOn: [
          ...new Map(
            links
              .filter(({ back }) => back < at)
              .map(({ back, type, lag }) => [
                `${type} ${back}`,
                { id: `t${at - 1 - back}`, type, lagDays: lag },
              ]),
          ).values(),
        ],
      })),
    )
    .chain(tasks => fc.shuffledSubarray(tasks, { minLength: tasks.length }))
