import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { BAMBU_PORT } from '../../../devices/links/bambu/config.ts'
import {
  createPrinterConnection,
  PUSHALL,
  PUSHALL_EVERY_MS,
} from '../../../devices/links/bambu/connect.ts'
import { PrinterPins } from '../../../devices/links/bambu/pins.ts'
import { PrinterState } from '../../../devices/links/bambu/printer-state.ts'
import { parseReport } from '../../../devices/links/bambu/report.ts'
import { requestTopicOf } from '../../../devices/links/bambu/topics.ts'
import { ShoalError } from '../../../shared/errors.ts'
import {
  PRINTER_STATUS,
  PRINTER_STATUS_SECONDS,
  PrinterStatusAnswer,
  PrinterStatusInput,
} from '../../../shared/wire/printer-status.ts'
import { type DeviceQuestionContext, defineDeviceQuestion } from './device-question.ts'

/** Time for the status itself; the rest is for the way to the coordinator. */
const READ_MS = (PRINTER_STATUS_SECONDS - 5) * 1000
const MAX_KEPT = 64

/**
 * The status of a printer: one connection, one full status, and the connection is closed. An equal
 * question within five minutes gets the same answer, because a full status slows a printer down.
 */
export const createPrinterStatusQuestion = (port = BAMBU_PORT) => {
  const kept = new LRUCache<string, PrinterStatusAnswer>({ max: MAX_KEPT, ttl: PUSHALL_EVERY_MS })
  return defineDeviceQuestion({
    name: PRINTER_STATUS,
    input: PrinterStatusInput,
    async *ask(input, context) {
      // outside the scope is a refusal; everything later is an answer
      await context.resolveHost(input.ip, port)
      const key = hash('sha256', JSON.stringify(input))
      const value = kept.get(key) ?? (await readStatus(input, port, context))
      if (value.available) kept.set(key, value, { noUpdateTTL: true })
      yield { type: 'item', value }
    },
  })
}

export default createPrinterStatusQuestion()

const readStatus = async (
  { ip, serial, access_code }: PrinterStatusInput,
  port: number,
  context: DeviceQuestionContext,
): Promise<PrinterStatusAnswer> => {
  const pins = new PrinterPins(context.stateDir)
  const pinned = await pins.read(serial)
  let fingerprint: string | null = null
  const verifyFingerprint = (shown: string, commonName: string): Promise<void> => {
    fingerprint = shown
    return pins.verify(serial, shown, commonName)
  }
  const address = { serial, host: ip, port, trust: { verifyFingerprint } }
  const state = new PrinterState(context.now)
  const outcome = await readOnce(
    { ...address, readAccessCode: async () => access_code },
    state,
    context,
  )
  return {
    ...toAnswer(serial, state, outcome),
    certificate_fingerprint: fingerprint,
    certificate_pinned: pinned !== undefined && pinned === fingerprint,
  }
}

/** Fills the state; returns the reason why that was not possible. */
const readOnce = async (
  address: Parameters<typeof createPrinterConnection>[0],
  state: PrinterState,
  context: DeviceQuestionContext,
): Promise<string | undefined> => {
  const connection = createPrinterConnection(address, context)
  const whole = Promise.withResolvers<void>()
  connection.onMessage(({ payload, isRetained }) => {
    const report = isRetained ? undefined : parseReport(payload)
    if (report !== undefined) state.accept(report)
    if (state.isWhole) whole.resolve()
  })
  connection.onStateChange(() => {
    if (connection.reason === undefined)
      connection.publish(requestTopicOf(address.serial), PUSHALL).catch(whole.reject)
  })
  const end = new AbortController()
  const limit = AbortSignal.any([end.signal, context.signal, AbortSignal.timeout(READ_MS)])
  const session = connection.runOnce(limit)
  try {
    await Promise.race([whole.promise, session])
    return undefined
  } catch (error) {
    return explainFailure(error as Error, limit)
  } finally {
    end.abort()
    await session.catch(() => {})
  }
}

/** Return codes of CONNACK for a wrong user name or password (MQTT 3.1.1, section 3.2.2.3). */
const REFUSED_LOGIN: readonly unknown[] = [4, 5]

const explainFailure = (error: Error, limit: AbortSignal): string => {
  if (error instanceof ShoalError) return error.message
  if (REFUSED_LOGIN.includes((error as { code?: unknown }).code))
    return 'the printer refuses the access code'
  if (limit.aborted) return `the printer did not send its status within ${READ_MS / 1000} s`
  return `the printer is not reachable: ${error.message}`.slice(0, 500)
}

const toAnswer = (
  serial: string,
  state: PrinterState,
  failure: string | undefined,
): Omit<PrinterStatusAnswer, 'certificate_fingerprint' | 'certificate_pinned'> => {
  const values = Object.fromEntries(
    Object.entries(state.readings).map(([name, { value }]) => [name, value]),
  )
  const available = failure === undefined
  const names = Object.keys(PrinterStatusAnswer.shape)
  return PrinterStatusAnswer.parse({
    ...Object.fromEntries(names.map(name => [name, available ? (values[name] ?? null) : null])),
    serial,
    available,
    writable: available ? state.lockReason === undefined : null,
    reason: failure ?? state.lockReason ?? null,
    observed_at: available ? new Date(state.seenAt ?? 0).toISOString() : null,
    certificate_pinned: false,
  })
}
