import { describeParameters, isParameterSchema } from './parameter-schema.ts'

type Row = Record<string, unknown>

/** Members that people decide on: their numbers are shown unrounded. */
const EXACT = ['operations', 'bounds', 'checks', 'readings', 'evidence', 'units']
/** Columns that come first; the other ones follow in the order of the answer. */
const FIRST = [
  'name',
  'op',
  'verdict',
  'observed',
  'requires',
  'limit',
  'source',
  'warning',
  'cell_id',
]

/**
 * Copies an answer for people: plans of the coordinator as members and tables in place of their JSON
 * text, schemas of parameters in one line, and numbers of plans unrounded.
 */
export const readableAnswer = (answer: unknown): unknown => {
  if (Array.isArray(answer)) return answer.map(readableAnswer)
  if (!isRow(answer)) return answer
  if (isParameterSchema(answer)) return describeParameters(answer)
  const request = readableRequest(answer)
  if (request !== answer) return request
  return Object.fromEntries(
    Object.entries(answer).map(([name, value]) => [
      name,
      name === 'requests' && Array.isArray(value) ? value.map(omitPlans) : showMember(name, value),
    ]),
  )
}

/**
 * Puts the plan of a request in place of its text. Only of plans that the coordinator made itself:
 * texts of other requesters stay JSON, because they could look like rows of a table.
 */
export const readableRequest = (request: Row): Row => {
  const { plan_text, evidence_text, subject } = request
  if (typeof subject !== 'string' || !subject.startsWith('shoal:')) return request
  const plan = parse(plan_text)
  if (!isRow(plan)) return request
  const names = namesOf(plan)
  const members = Object.entries(request).map(([name, value]): [string, unknown] => {
    if (name === 'plan_text') return ['plan', arrange(plan, names)]
    const evidence = name === 'evidence_text' ? parse(evidence_text) : undefined
    return evidence === undefined ? [name, value] : ['evidence', arrange(evidence, names)]
  })
  return Object.fromEntries(members)
}

const showMember = (name: string, value: unknown): unknown => {
  if (name === 'plan' && isRow(value)) return arrange(value, namesOf(value))
  return EXACT.includes(name) ? showExactly(readableAnswer(value)) : readableAnswer(value)
}

/** A list of requests has no room for plans; `gates show` shows one. */
const omitPlans = (request: unknown): unknown => {
  if (!isRow(request)) return request
  const { plan_text: _plan, evidence_text: _evidence, ...others } = request
  return others
}

/** Text that escapes hidden characters is not always JSON; it is shown as it is. */
const parse = (text: unknown): unknown => {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}

/** Names of devices by their id, as far as the plan has them. */
const namesOf = ({ units }: Row): ReadonlyMap<unknown, unknown> =>
  new Map(
    Array.isArray(units) ? units.filter(isRow).map(({ device_id, name }) => [device_id, name]) : [],
  )

/** Orders columns, adds names to device ids, and moves members of members into their row. */
const arrange = (value: unknown, names: ReadonlyMap<unknown, unknown>): unknown => {
  if (Array.isArray(value))
    return value.map(each => arrange(isRow(each) ? flattenRow(omitLimit(each)) : each, names))
  if (!isRow(value)) return showExactly(value)
  const name = value.name ?? names.get(value.device_id)
  const row = name === undefined ? value : { name, ...value }
  return Object.fromEntries(
    [...FIRST.filter(key => key in row), ...Object.keys(row).filter(key => !FIRST.includes(key))]
      .map(key => [key, row[key]] as const)
      .map(([key, inner]) => [key, arrange(inner, names)]),
  )
}

const flattenRow = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).flatMap(([name, value]) =>
      isRow(value)
        ? Object.entries(flattenRow(value)).map(([inner, each]) => [`${name}.${inner}`, each])
        : [[name, value]],
    ),
  )

/** Numbers unrounded, and text with wide gaps in quotes, so that it cannot pass for columns. */
const showExactly = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(each => showExactly(omitLimit(each)))
  if (isRow(value))
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, showExactly(each)]))
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && / {2}/.test(value) ? JSON.stringify(value) : value
}

/** The limit of a check has the same meaning in words, as what it requires. */
const omitLimit = <T>(check: T): T | Row => {
  if (!isRow(check) || typeof check.requires !== 'string') return check
  const { limit: _, ...others } = check
  return others
}

const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
