import { constants, setPriority } from 'node:os'
import { type CallOrder, type HelperReply, MAX_ANSWER_BYTES } from '../protocol.ts'

/** Functions by their name; each takes and answers what JSON can hold. */
export type HelperModule = Readonly<Record<string, (input: never) => unknown>>

/** Modules by their name, loaded by their first call. */
export type HelperModules = Readonly<Record<string, () => Promise<HelperModule>>>

/**
 * Answers the daemon's calls, and nobody else's: only names in the table are called. It leaves the
 * processor to those who serve, and ends with the daemon, whatever it does then.
 */
export const serve = (modules: HelperModules): void => {
  process.on('message', order => void answer(modules, order as CallOrder).then(send))
  process.once('disconnect', endWithChildren)
  yieldToOthers()
  send({ type: 'ready' })
}

const send = (reply: HelperReply): void => {
  process.send?.(reply, undefined, {}, () => {})
}

const answer = async (modules: HelperModules, order: CallOrder): Promise<HelperReply> => {
  const { id } = order
  try {
    const called = await functionOf(modules, order)
    const json = JSON.stringify((await called(order.input as never)) ?? null)
    const bytes = Buffer.byteLength(json)
    if (bytes <= MAX_ANSWER_BYTES) return { type: 'value', id, json }
    return { type: 'failed', id, kind: 'too_large', reason: `its answer has ${bytes} bytes` }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { type: 'failed', id, kind: 'failed', reason: reason.slice(0, 300) }
  }
}

const functionOf = async (modules: HelperModules, { module, function: name }: CallOrder) => {
  const load = Object.hasOwn(modules, module) ? modules[module] : undefined
  const functions = await load?.()
  const called =
    functions !== undefined && Object.hasOwn(functions, name) ? functions[name] : undefined
  if (called === undefined) throw new Error(`the helper knows no ${module}.${name}`)
  return called
}

const yieldToOthers = (): void => {
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // it may be lower already, and cannot be raised
  }
}

/** It leads a group of its own, so this takes along the programs that a library has started. */
const endWithChildren = (): void => {
  try {
    process.kill(-process.pid, 'SIGKILL')
  } catch {
    process.exit(1)
  }
}
