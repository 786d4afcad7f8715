import type { Logger } from 'pino'
import type * as z from 'zod'
import { systemRuntime } from '../../../shared/runtime.ts'
import { Announce } from '../../../shared/wire/announce.ts'
import { DevicesBody } from '../../../shared/wire/device.ts'
import { Envelope, StateBody } from '../../../shared/wire/envelope.ts'
import { FindingsBody } from '../../../shared/wire/findings.ts'
import { HistoryBody, Sample } from '../../../shared/wire/telemetry.ts'
import type { TopicName } from '../../../shared/wire/topics.ts'
import type { Fleet } from '../cells/fleet.ts'
import type { ControlReceiver } from '../control/control.ts'
import { SharedValues } from '../series/shared-values.ts'
import { admitDevices } from './admit-devices.ts'
import type { DeviceReceiver, EstopReceiver, FindingsReceiver } from './receivers.ts'

export interface InboxParts {
  fleet: Pick<Fleet, 'birth' | 'state' | 'sample'> & Partial<Pick<Fleet, 'recordLateSamples'>>
  logger: Logger
  /** Receives every accepted birth, so that the epoch survives a restart. */
  onBirth: (cellId: string, epoch: number, announce: Announce) => void
  /** Receivers of command and configuration messages; without them these messages are dropped. */
  control?: ControlReceiver
  /** Receiver of the readings of devices. */
  devices?: DeviceReceiver
  /** Receiver of findings of scheduled runs; without it they are dropped. */
  findings?: FindingsReceiver
  /** Receiver of e-stop reports; without it they are dropped. */
  estops?: Pick<EstopReceiver, 'onReport'>
  /** Runs for every invalid message. */
  onDropped?: (name: TopicName) => void
  /** Unix time, milliseconds. */
  now?: () => number
}

type Handler = (cellId: string, message: Envelope) => void

/**
 * Reads the messages of cells. JSON, envelope, sender and body are checked; an invalid message is
 * logged and dropped, and never reaches the registry. Returns a promise for findings, which are
 * confirmed when they are stored.
 */
export const createInbox = (parts: InboxParts) => {
  const { fleet, logger, onBirth, control, devices, findings, estops, onDropped } = parts
  const { now = systemRuntime.now } = parts
  const handle =
    <T extends z.ZodType>(
      schema: T,
      use: (cellId: string, epoch: number, body: z.output<T>, clockAheadMs: number) => void,
    ): Handler =>
    (cellId, { epoch, body, at }) =>
      use(cellId, epoch, schema.parse(body), at - now())

  const shared = new SharedValues()

  const handlers: Partial<Record<TopicName, Handler>> = {
    birth: (cellId, { id, epoch, body }) => {
      const admitted = admitDevices(body)
      const announce = shared.announce(Announce.parse(admitted.body))
      devices?.onRefused(cellId, admitted.refused)
      fleet.birth(cellId, epoch, announce)
      onBirth(cellId, epoch, announce)
      control?.onBirth(cellId, id)
    },
    state: handle(StateBody, (cellId, epoch, { state }) => {
      fleet.state(cellId, epoch, state)
      if (state === 'ready') control?.onConnected(cellId)
    }),
    ack: (cellId, { body }) => control?.onAck(cellId, body),
    reported: (cellId, { body }) => control?.onReport(cellId, body),
    estopped: (cellId, { body }) => estops?.onReport(cellId, body),
    telemetry: handle(Sample, (cellId, epoch, sample, clockAheadMs) =>
      fleet.sample(cellId, epoch, shared.sample(sample), clockAheadMs),
    ),
    devices: handle(DevicesBody, (cellId, _epoch, { states }, clockAheadMs) =>
      devices?.onStates(cellId, states, clockAheadMs),
    ),
    history: handle(HistoryBody, (cellId, epoch, { samples }, clockAheadMs) =>
      fleet.recordLateSamples?.(cellId, epoch, samples, clockAheadMs),
    ),
  }

  /** The start of a run and the end of its budget are converted to the coordinator's clock. */
  const receiveFindings = (cellId: string, { body, at }: Envelope): Promise<void> | undefined => {
    const found = FindingsBody.parse(body)
    const convert = (time: number): number => Math.max(0, time - (at - now()))
    if (found.end?.use !== undefined) found.end.use.ends_at = convert(found.end.use.ends_at)
    return findings?.onFindings(cellId, { ...found, started_at: convert(found.started_at) })
  }

  return (name: TopicName, cellId: string, payload: Buffer): Promise<void> | undefined => {
    try {
      const message = Envelope.parse(JSON.parse(payload.toString('utf8')))
      if (message.sender !== cellId) throw new Error(`sender is ${message.sender}`)
      if (name === 'findings') return receiveFindings(cellId, message)
      handlers[name]?.(cellId, message)
    } catch (error) {
      const reason = (error as Error).message.slice(0, 300)
      onDropped?.(name)
      logger.warn({ cell: cellId, topic: name, reason }, 'message dropped')
    }
    return undefined
  }
}
