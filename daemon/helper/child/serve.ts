import { constants, setPriority } from 'node:os'
import type { CallOrder, Frame, Order } from '../protocol.ts'
import { type HelperFunction, ServedCall } from './served-call.ts'

/** Finds a function by its name; it may be loaded for that. */
export type HelperModule = (name: string) => Promise<HelperFunction | undefined>

export type HelperModules = Readonly<Record<string, HelperModule>>

/**
 * Carries out the calls of the daemon, and of nobody else: only names in the table are called. The
 * process leaves the processor to inference, and ends with the daemon, whatever it does then.
 */
export const serve = (modules: HelperModules): void => {
  const calls = new Map<number, ServedCall>()
  const begin = async (order: CallOrder): Promise<void> => {
    const call = new ServedCall(order.id, send)
    calls.set(order.id, call)
    await call.run(() => findFunction(modules, order), order.input)
    calls.delete(order.id)
  }
  process.on('message', message => {
    const order = message as Order
    if (order.type === 'call') void begin(order)
    else if (order.type === 'credit') calls.get(order.id)?.grant(order.bytes)
    else calls.get(order.id)?.cancel()
  })
  process.once('disconnect', endWithChildren)
  yieldToOthers()
  send({ type: 'ready' })
}

const send = (frame: Frame): void => {
  process.send?.(frame, undefined, {}, () => {})
}

const findFunction = async (modules: HelperModules, { module, function: name }: CallOrder) => {
  const find = Object.hasOwn(modules, module) ? modules[module] : undefined
  const found = await find?.(name)
  if (found === undefined) throw new Error(`the helper knows no ${module}.${name}`)
  return found
}

const yieldToOthers = (): void => {
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // it may be lower already, and cannot be raised
  }
}

/** The process leads a group of its own, so this takes along the programs that a library has started. */
const endWithChildren = (): void => {
  try {
    process.kill(-process.pid, 'SIGKILL')
  } catch {
    process.exit(1)
  }
}
