import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import type { TopicName } from '../../../shared/wire/topics.ts'
import type { CellCaller } from '../enrolment/admission.ts'

/**
 * The control plane between coordinator and cells. One of the five ports: a broker in the
 * coordinator's own process, or an MQTT broker outside. Cells dial the coordinator either way.
 */
export interface Bus {
  /** `id` is that of a command, for the topics that end with one. */
  publish(name: TopicName, cellId: string, type: string, body: unknown, id?: string): Promise<void>
  /**
   * Publishes one message to each of these cells at once, past messages that wait. Returns a promise
   * for each cell, in order, which resolves when its socket has the message.
   */
  publishToEach(
    name: TopicName,
    cellIds: readonly string[],
    type: string,
    body: unknown,
  ): Promise<void>[]
  /**
   * Takes over a socket whose upgrade proved that it belongs to this cell; `address` is that of the
   * cell where a proxy is between.
   */
  handle(socket: Socket, cellId: string, caller?: CellCaller): void
  /** Closes every connection of one cell. */
  disconnect(cellId: string): void
  /** False while the broker cannot be reached. */
  isConnected(): boolean
  close(): Promise<void>
}

/** Time a cell may take from the upgrade to CONNECT. */
export const CONNECT_TIMEOUT_MS = 5000
/** A longer keep-alive, or none, would delay the detection of a lost cell. */
const MAX_KEEPALIVE_SECONDS = 60

/**
 * True when a cell may connect with this keep-alive. MQTT 3.1.1 has no return code for a refusal
 * (section 3.2.2.3 reserves 6 and above), so the connection is closed without CONNACK.
 */
export const isKeepaliveAllowed = (seconds = 0): boolean =>
  seconds > 0 && seconds <= MAX_KEEPALIVE_SECONDS

export interface BusParts {
  logger: Logger
  /** Monotonic milliseconds. */
  nowMs: () => number
  /** Id of this coordinator where several share a broker. */
  replicaId?: string
  /** Boot epoch of the coordinator, in every envelope it sends. */
  epoch: number
  /** Any sign of life of a cell. */
  onActivity: (cellId: string) => void
  /**
   * Receives a message that passed the access rules; the payload is not checked yet. A message for
   * which it returns a promise is confirmed (PUBACK) when that resolves, and never when it rejects.
   */
  receive: (name: TopicName, cellId: string, payload: Buffer) => Promise<void> | undefined
  /**
   * Another start of the cell's daemon connected while one was still connected: where from, and where
   * from before. A daemon that comes back before its old connection is gone is none.
   */
  onTakeover: (cellId: string, from: { address: string; before: string }) => void
  /** Checks a cell's credential in CONNECT; the upgrade has checked one already. */
  authenticate: (cellId: string, credential: string) => Promise<boolean> | boolean
  /** Limit in place of `CONNECT_TIMEOUT_MS`. */
  connectTimeoutMs?: number
}
