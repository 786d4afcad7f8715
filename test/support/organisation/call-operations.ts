import type { RouteAnswer } from '../../../bin/response-examples.ts'
import { pathFields } from '../../../coordinator/kernel/declaration/declaration.ts'
import type { Operation } from '../../../coordinator/kernel/declaration/operation.ts'
import { operations } from '../../../coordinator/surfaces/catalogue/operations.ts'
import { FIXED, type Known, type OperationCall, STORY } from './operation-calls.ts'
import type { openOrganisation } from './organisation.ts'

type Scene = Awaited<ReturnType<typeof openOrganisation>>

/** Time between two calls, by the clock of the scene. */
const PAUSE_MS = 250
const SECOND = { by: 'approver_b' } as const

/** Answers of every operation to one call, by its id. */
export const callOperations = async (scene: Scene): Promise<Map<string, RouteAnswer>> => {
  const answers = new Map<string, RouteAnswer>()
  const known: Known = { ...FIXED }
  for (const [at, call] of listCalls().entries()) {
    scene.clock.now += PAUSE_MS
    scene.readDevices()
    const answer = await callOperation(scene, call, known, `walk-${at}`)
    if (!call.isPreparation) answers.set(call.id, answer)
    learn(known, call, answer)
  }
  return answers
}

/** The story, then every other operation: reads, changes, deletions. */
const listCalls = (): OperationCall[] => {
  const told = new Set(STORY.map(({ id }) => id))
  const others = operations.filter(({ id }) => !told.has(id))
  const rank = ({ method, id }: Operation): number =>
    method === 'DELETE' ? 3 : method !== 'GET' ? 1 : id.endsWith('-last') ? 2 : 0
  const isForSecond = (each: Operation): boolean => rank(each) > 0 || each.group === 'host'
  const sorted = others.toSorted((one, other) => rank(one) - rank(other))
  // another person, since a key has so many calls in a minute
  return [...STORY, ...sorted.map(each => ({ id: each.id, ...(isForSecond(each) && SECOND) }))]
}

const callOperation = async (
  { app, demo }: Scene,
  { id, by = 'operator', input, upload }: OperationCall,
  known: Known,
  callKey: string,
): Promise<RouteAnswer> => {
  const operation = operations.find(each => each.id === id)
  if (operation === undefined) throw new Error(`no operation ${id}`)
  const { method, path, examples = [] } = operation
  const given = typeof input === 'function' ? input(known) : (input ?? examples[0] ?? {})
  const fields = pathFields(path)
  const values = { ...known, ...(given as Record<string, string>) }
  const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(values[name] ?? 'missing'),
  )
  const rest = Object.fromEntries(Object.entries(given).filter(([name]) => !fields.includes(name)))
  const isQuery = !['POST', 'PUT'].includes(method) || upload !== undefined
  const query = new URLSearchParams(isQuery ? (rest as Record<string, string>) : {}).toString()
  const response = await app.inject({
    method,
    url: query === '' ? url : `${url}?${query}`,
    headers: {
      authorization: `Bearer ${demo[by]}`,
      ...(method !== 'GET' && { 'idempotency-key': callKey }),
      ...(upload && { 'content-type': upload.type }),
    },
    ...(isQuery ? upload && { payload: upload.text } : { payload: rest }),
  })
  const type = String(response.headers['content-type'] ?? '')
  return { status: response.statusCode, type, text: response.body }
}

const learn = (known: Known, call: OperationCall, { type, text }: RouteAnswer): void => {
  if (call.learn === undefined || !type.startsWith('application/json')) return
  const body: unknown = JSON.parse(text)
  for (const [name, place] of Object.entries(call.learn)) {
    const value = place.split('.').reduce<unknown>((at, step) => Object(at)[step], body)
    if (value !== undefined) known[name] = typeof value === 'string' ? value : JSON.stringify(value)
  }
}
