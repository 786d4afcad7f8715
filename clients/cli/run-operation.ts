import type { PrintableRows } from '../../shared/print.ts'
import { escapeHidden } from '../../shared/visible.ts'
import { answerCall, presentAnswer } from './answer-call.ts'
import { type ApiCall, TextAnswer } from './api.ts'
import { GuidedError } from './describe-failure.ts'
import type { DescribedOperation } from './document.ts'
import type { LiveTerminal } from './live-screen.ts'
import { callOf, type TypedInput } from './operation-call.ts'
import { isUnknownId, listRefusedFields, resolveIds } from './resolve-ids.ts'
import type { OpenSession } from './session.ts'
import { watchAnswer } from './watch-answer.ts'

/** How a command is to run, from flags that every command of its kind has. */
export interface RunFlags {
  /** Wait until the work is done. */
  wait: boolean
  /** Ask again and again, and show the newest answer. */
  watch: boolean
}

/**
 * Runs an operation. Where the coordinator does not know an id, it may be a name or the beginning of
 * an id: then the refused values are looked up and the call is sent once more, until nothing that was
 * refused stands for another id.
 */
export const runOperation = async (
  session: OpenSession,
  operation: DescribedOperation,
  typed: TypedInput,
  { wait, watch }: RunFlags,
  openTerminal: () => LiveTerminal,
): Promise<void> => {
  let input = await resolveFilters(session, operation, typed)
  let call = callOf(operation, input)
  const send = async <T>(ask: (call: ApiCall) => Promise<T>): Promise<T> => {
    try {
      return await ask(call)
    } catch (error) {
      if (call.upload !== undefined || !isUnknownId(error, input)) throw error
      const refused = listRefusedFields(error, input)
      const found = await resolveIds(input, refused, operation, await scopeOf(session, operation))
      if (found === undefined) throw error
      input = found
      call = callOf(operation, input)
      return send(ask)
    }
  }
  const change = async (): Promise<unknown> => {
    const answer = await send(session.api.call)
    if (operation.method !== 'GET') sayResolved(session, typed, input, answer)
    return answer
  }
  if (watch) {
    const look = async () => readableRows(await send(session.api.call), session, operation)
    return watchAnswer(session, look, openTerminal())
  }
  if (operation.isText) return send(call => answerCall(session, call, operation, wait))
  return answerCall(session, call, operation, wait, change)
}

const scopeOf = async ({ api, operations }: OpenSession, { words }: DescribedOperation) => ({
  api,
  operations: await operations(),
  group: words[0] ?? '',
})

/** Fields of a list by which it is filtered: a name would otherwise find nothing. */
const FILTER = /_id$|^(cell|model)$/

/** Replaces names among the filters of a list, which the coordinator does not refuse. */
const resolveFilters = async (
  session: OpenSession,
  operation: DescribedOperation,
  input: TypedInput,
): Promise<TypedInput> => {
  const filters = Object.keys(input.fields).filter(name => FILTER.test(name))
  if (operation.method !== 'GET' || filters.length === 0) return input
  const only = { ...input, inPath: {} }
  const found = await resolveIds(only, filters, operation, await scopeOf(session, operation))
  return found === undefined ? input : { ...input, fields: found.fields }
}

/**
 * Says which object a name stood for, once a call has changed it: the program looked the id up, or
 * the coordinator knows the name and has the id in its answer.
 */
const sayResolved = (
  { format, hint }: OpenSession,
  typed: TypedInput,
  sent: TypedInput,
  answer: unknown,
): void => {
  if (format !== 'text') return
  const all = { ...sent.inPath, ...sent.fields, ...idsIn(answer, Object.keys(sent.inPath)) }
  for (const [name, value] of Object.entries({ ...typed.inPath, ...typed.fields })) {
    const ids = [all[name]].flat()
    for (const [i, each] of [value].flat().entries())
      if (ids[i] !== each) hint(`${escapeHidden(String(each))} is ${escapeHidden(String(ids[i]))}`)
  }
}

/** Ids in an answer of the objects that the path names: `device_id`, or `id` of the same kind. */
const idsIn = (answer: unknown, names: readonly string[]): Record<string, string> => {
  const { id, ...members } = (answer ?? {}) as Record<string, unknown>
  return Object.fromEntries(
    names.flatMap(name => {
      const stem = /^(\w+)_id$/.exec(name)?.[1]
      if (stem === undefined) return []
      const isSame = typeof id === 'string' && id.startsWith(`${stem}_`)
      const own = members[name] ?? (isSame ? id : undefined)
      return typeof own === 'string' ? [[name, own]] : []
    }),
  )
}

const readableRows = (
  answer: unknown,
  session: OpenSession,
  operation: DescribedOperation,
): PrintableRows => {
  if (answer instanceof TextAnswer) throw createUnwatchableError()
  return presentAnswer(answer as PrintableRows, session, operation)
}

const createUnwatchableError = (): GuidedError =>
  new GuidedError(
    'wrong_usage',
    'a response that is a file cannot be watched',
    'leave --watch out, or choose --format json',
  )
