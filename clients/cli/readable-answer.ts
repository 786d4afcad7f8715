import { OWN_SUBJECT } from './answer-step.ts'
import { arrangeEntity, isEntity, summarizeEntity } from './entity-rows.ts'
import { arrangePlan, arrangeWith, isRow, namesOf, showExactly } from './exact-plan.ts'
import { describeParameters, isParameterSchema } from './parameter-schema.ts'

type Row = Record<string, unknown>

/** Members that people decide on: their numbers are shown unrounded. */
const EXACT = ['operations', 'bounds', 'checks', 'readings', 'evidence', 'units']

/**
 * Copies an answer for people: plans of the coordinator as members and tables in place of their JSON
 * text, schemas of parameters in one line, numbers of plans unrounded, and entities of discovery as
 * what a reader looks for.
 */
export const readableAnswer = (answer: unknown): unknown => {
  if (Array.isArray(answer)) return answer.map(readableAnswer)
  if (!isRow(answer)) return answer
  if (isEntity(answer)) return arrangeEntity(answer)
  if (isParameterSchema(answer)) return describeParameters(answer)
  const request = readableRequest(answer)
  if (request !== answer) return mergeStates(request)
  return Object.fromEntries(
    Object.entries(mergeStates(describeChecks(answer))).map(([name, value]) => [
      name,
      Array.isArray(value) ? showList(name, value) : showMember(name, value),
    ]),
  )
}

/** Lists have a line for each member; another command shows one of them whole. */
const showList = (name: string, list: readonly unknown[]): unknown => {
  if (name === 'requests') return list.map(omitPlans)
  return name === 'entities' ? list.map(summarizeEntity) : showMember(name, list)
}

/**
 * Puts the plan of a request in place of its text. Only of plans that the coordinator made itself:
 * texts of other requesters stay JSON, because they could look like rows of a table.
 */
export const readableRequest = (request: Row): Row => {
  const { plan_text, evidence_text, subject } = request
  if (typeof subject !== 'string' || !subject.startsWith(OWN_SUBJECT)) return request
  const plan = parse(plan_text)
  if (!isRow(plan)) return request
  const names = namesOf(plan)
  const members = Object.entries(request).map(([name, value]): [string, unknown] => {
    if (name === 'plan_text') return ['plan', arrangePlan(plan)]
    const evidence = name === 'evidence_text' ? parse(evidence_text) : undefined
    if (evidence === undefined) return [name, value]
    return ['evidence', arrangeWith(describeChecks(evidence), names)]
  })
  return Object.fromEntries(members)
}

const showMember = (name: string, value: unknown): unknown => {
  if (name === 'plan' && isRow(value)) return arrangeWith(describeChecks(value), namesOf(value))
  return EXACT.includes(name) ? showExactly(value) : readableAnswer(value)
}

/** A list of requests has no room for plans; `gates show` shows one. */
const omitPlans = (request: unknown): unknown => {
  if (!isRow(request)) return request
  const { plan_text: _plan, evidence_text: _evidence, ...others } = request
  return nameRequester(mergeStates(others))
}

/** Shows the requester by name; by id once they are erased, and for a coordinator that sends no names. */
const nameRequester = ({ requester_id, ...request }: Row): Row =>
  request.requester === undefined
    ? { ...request, requester_id }
    : { ...request, requester: request.requester ?? requester_id }

/**
 * Shows one state of a gate request: `status` repeats `state` in three words, except for an open
 * request that is blocked because its rules have changed.
 */
const mergeStates = (request: Row): Row => {
  const { status, ...others } = request
  if (typeof request.plan_hash !== 'string' || typeof request.requester_id !== 'string')
    return request
  const isOpen = request.state === 'pending' || request.state === 'approved'
  return isOpen && status === 'blocked' ? { ...others, state: 'blocked' } : others
}

/** Text that escapes hidden characters is not always JSON; it is shown as it is. */
const parse = (text: unknown): unknown => {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}

/** The limit of a check has the same meaning in words, as what it requires. */
const describeChecks = <T>(value: T): T | Row => {
  if (!isRow(value) || !Array.isArray(value.checks)) return value
  return { ...value, checks: value.checks.map(omitLimit) }
}

const omitLimit = (check: unknown): unknown => {
  if (!isRow(check) || typeof check.requires !== 'string') return check
  const { limit: _, ...others } = check
  return others
}
