import { flushCompileCache } from 'node:module'
import { Socket } from 'node:net'
import { constants, setPriority } from 'node:os'
import { type CallOrder, type HelperFrame, type HelperOrder, LINK_FD } from '../protocol.ts'
import { readLines } from '../read-lines.ts'
import { type HelperFunction, ServedCall } from './served-call.ts'

/** Finds a function by its name, loading it if needed. */
type HelperModule = (name: string) => Promise<HelperFunction | undefined>

type HelperModules = Readonly<Record<string, HelperModule>>

/**
 * Serves calls from the daemon, and only for names in the table. The process has a low CPU priority
 * in favour of inference, and ends when the daemon ends, however that happens.
 */
export const serveCalls = (modules: HelperModules): void => {
  const link = new Socket({ fd: LINK_FD })
  const send = (frame: HelperFrame): void => void link.write(`${JSON.stringify(frame)}\n`)
  const calls = new Map<number, ServedCall>()
  const begin = async (order: CallOrder): Promise<void> => {
    const call = new ServedCall(order.id, send)
    calls.set(order.id, call)
    await call.run(() => findFunction(modules, order), order.input)
    calls.delete(order.id)
  }
  readLines(link, Number.POSITIVE_INFINITY, line => {
    const order: HelperOrder = JSON.parse(line)
    if (order.type === 'call') void begin(order)
    else if (order.type === 'credit') calls.get(order.id)?.grant(order.bytes)
    else calls.get(order.id)?.cancel()
  })
  // an error of the link is followed by its close
  link.on('error', () => {})
  link.once('close', killGroup)
  yieldToOthers()
  send({ type: 'ready' })
}

const findFunction = async (modules: HelperModules, { module, function: name }: CallOrder) => {
  const find = Object.hasOwn(modules, module) ? modules[module] : undefined
  const found = await find?.(name)
  // a killed process would keep nothing of what it has compiled
  flushCompileCache()
  if (found === undefined) throw new Error(`the helper has no function ${module}.${name}`)
  return found
}

const yieldToOthers = (): void => {
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // the priority may be lower already, and cannot be raised
  }
}

/** Kills the process group that this process leads, including programs started by a library. */
const killGroup = (): void => {
  try {
    process.kill(-process.pid, 'SIGKILL')
  } catch {
    process.exit(1)
  }
}
