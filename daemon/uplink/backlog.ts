import type { Logger } from 'pino'
import { systemRuntime } from '../../shared/runtime.ts'
import { TokenBucket } from '../../shared/token-bucket.ts'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import type { FindingsBody } from '../../shared/wire/findings.ts'
import type { TopicName } from '../../shared/wire/topics.ts'
import type { HealthRegistry } from '../health.ts'
import { drain } from './drain.ts'
import { FindingsSpool } from './findings-spool.ts'
import { MAX_RECORD_BYTES } from './records.ts'
import { type Batch, Spool } from './spool.ts'

export interface BacklogParts {
  /** Storage for samples while disconnected: the oldest are dropped when it is full. */
  spool: { folder: string; maxBytes: number; drainBytesPerSecond: number }
  /** Messages that must reach the coordinator: never dropped, and sent first. */
  outbox?: { folder: string; maxBytes: number }
  /** Findings of modules, in their order; `confirmMs` as in `FindingsSpool`. */
  findings?: { folder: string; maxBytes: number; confirmMs?: number }
  health: HealthRegistry
  logger: Logger
  wait?: Wait
}

export interface SpoolLimits {
  maxBytes: number
  drainBytesPerSecond: number
  outboxBytes?: number
  findingsBytes?: number
}

/** A message as it waits in the outbox. */
export interface KeptMessage {
  name: TopicName
  id: string | undefined
  body: unknown
}

/** The sending side of a connection; each call resolves when the coordinator has the message. */
interface BacklogSenders {
  sendMessages: (messages: KeptMessage[]) => Promise<unknown>
  sendSamples: (batch: Batch) => Promise<void>
  /** Rejects when the signal aborts before the coordinator has stored the findings. */
  sendFindings: (body: FindingsBody, signal: AbortSignal) => Promise<void>
}

/**
 * Number of samples kept in memory until the spool is open, which takes far less time than they do.
 */
const MAX_EARLY = 32

/**
 * A message that outlives so many connections was rejected by the coordinator, not lost by chance.
 */
const OUTBOX = {
  makesRoom: 'nothing',
  batchRecords: 10,
  batchBytes: MAX_RECORD_BYTES,
  maxAttempts: 20,
} as const

/** The messages on disk that wait for the next connection: samples, and messages that must not get lost. */
export class Backlog {
  readonly #parts: BacklogParts
  #limits: { maxBytes: number; drainBytesPerSecond: number }
  #spool: Spool | undefined
  #outbox: Spool | undefined
  #findings: FindingsSpool | undefined
  /** Samples from before the first attempt to open the spool. */
  #early: string[] | undefined = []
  /** Number of samples lost while there was neither a connection nor a spool. */
  #lost = 0

  constructor(parts: BacklogParts) {
    this.#parts = parts
    this.#limits = parts.spool
  }

  /** Opens what is not open yet. A disk that fails must not keep the cell out of its fleet. */
  async open(): Promise<void> {
    const { spool, outbox, findings, health, logger } = this.#parts
    try {
      const { maxBytes } = this.#limits
      this.#spool ??= await Spool.open({ folder: spool.folder, maxBytes, logger })
      if (outbox) this.#outbox ??= await Spool.open({ ...outbox, ...OUTBOX, logger })
      if (findings) this.#findings ??= await FindingsSpool.open({ ...findings, logger })
      health.report('spool', 'running')
    } catch (error) {
      health.report('spool', 'waiting', (error as Error).message)
    }
    const early = this.#early ?? []
    this.#early = undefined
    for (const text of early) this.keepSample(text)
  }

  /** Sets other limits; the rate applies from the next connect on. */
  limit(limits: SpoolLimits): void {
    this.#limits = limits
    this.#spool?.limit(limits.maxBytes)
    if (limits.outboxBytes !== undefined) this.#outbox?.limit(limits.outboxBytes)
    if (limits.findingsBytes !== undefined) this.#findings?.limit(limits.findingsBytes)
  }

  keepSample(text: string): void {
    if (this.#spool) this.#spool.append(text)
    else if (this.#early && this.#early.length < MAX_EARLY) this.#early.push(text)
    else this.#lost++
  }

  /** Samples that could not be kept, since the start. */
  countDropped(): number {
    return this.#lost + (this.#spool?.dropped ?? 0)
  }

  /** False while there is no outbox that could keep a message. */
  get canKeepMessages(): boolean {
    return this.#outbox !== undefined
  }

  /** Resolves when the message is on disk. */
  async keepMessage(message: KeptMessage): Promise<void> {
    await this.#outbox?.keep(JSON.stringify(message))
  }

  /** Resolves when the findings are on disk. @throws Error without a disk that keeps them */
  async keepFindings(body: FindingsBody): Promise<void> {
    if (this.#findings === undefined) throw new Error('there is no spool for findings')
    await this.#findings.keep(body)
  }

  /** Sends what was kept, messages first, and findings until the signal aborts. */
  async drain(senders: BacklogSenders, signal: AbortSignal): Promise<void> {
    const { sendMessages, sendSamples, sendFindings } = senders
    const [outbox, spool, findings] = [this.#outbox, this.#spool, this.#findings]
    const amount = this.#limits.drainBytesPerSecond
    const rate = { amount, perMs: 1000, burst: amount }
    const bucket = new TokenBucket(rate, systemRuntime.nowMs)
    const how = { bucket, wait: this.#parts.wait ?? realWait, signal }
    const send = async ({ texts }: Batch): Promise<void> => {
      await sendMessages(texts.map(text => JSON.parse(text)))
    }
    if (outbox) await drain({ ...how, spool: outbox, send })
    const samples = spool && drain({ ...how, spool, send: sendSamples })
    await Promise.all([samples, findings?.drain(sendFindings, how)])
  }

  /** Makes what a lost connection has not confirmed wait for the next one. */
  release(): void {
    this.#spool?.release()
    this.#outbox?.release()
    this.#findings?.release()
  }

  async close(): Promise<void> {
    const open = [this.#spool, this.#outbox, this.#findings]
    this.#spool = undefined
    this.#outbox = undefined
    this.#findings = undefined
    for (const each of open) await each?.close()
  }
}
