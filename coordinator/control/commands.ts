import type { Logger } from 'pino'
import { canonicalJson } from '../../shared/canonical-json.ts'
import { ShoalError } from '../../shared/errors.ts'
import { newId } from '../../shared/ids.ts'
import type { Signer } from '../../shared/signing.ts'
import {
  Ack,
  type Command,
  type Hazard,
  isGenuineAck,
  signCommand,
  type VerbFacts,
} from '../../shared/wire/command.ts'
import { type Actor, type AuditEntry, appendAudit } from '../audit/audit.ts'
import type { Ledger } from '../store/store.ts'
import {
  type CommandRecord,
  deadlineOf,
  follows,
  givenUp,
  isFinal,
  maySend,
  newRecord,
} from './command.ts'
import {
  forgetOld,
  insertCommand,
  nextFence,
  readCommand,
  readCommands,
  readOpen,
  updateCommands,
} from './command-store.ts'
import { OpenCommands } from './open-commands.ts'
import { WriteBehind } from './write-behind.ts'

/** Asked of an unsafe command before it may be sent; nobody can pass it before gates exist. */
const UNSAFE_GATE = 'gate.device-command-live'
/** A command must fit into a packet and a line of the cell's journal. */
const MAX_PARAMS_BYTES = 32 * 1024
const ACTING: readonly Hazard[] = ['caution', 'unsafe']
const PRUNE_EVERY_MS = 3600 * 1000
/** Commands of one cell that have not ended. */
const MAX_OPEN = 100

export interface CommandRequest {
  cellId: string
  verb: string
  params: Record<string, unknown>
  mode: Command['mode']
  ttlSeconds: number
  /** What of the parameters may stand in the audit. */
  noted?: Record<string, string>
}

export interface CommandsParts {
  ledger: Ledger
  signer: Signer
  /** What a cell has announced; undefined when it has not been heard of since the start. */
  verbs: (cellId: string) => readonly VerbFacts[] | undefined
  /** A cell that is away gets its commands when it comes. */
  isHere: (cellId: string) => boolean
  /** The public key with which the cell signs. */
  cellKey: (cellId: string) => Promise<string | undefined>
  publish: (command: Command) => Promise<void>
  /** Unix milliseconds. */
  now: () => number
  logger: Logger
}

export interface Commands {
  /** Resolves when the command is on the disk. Throws what a person can do about it. */
  create(request: CommandRequest, by: Actor): Promise<CommandRecord>
  get(id: string): Promise<CommandRecord | undefined>
  /** Newest first. */
  list(filter: { cellId?: string; before?: string; limit: number }): Promise<CommandRecord[]>
  /** One body of the `ack` topic; what the cell has not signed is dropped. */
  acknowledge(cellId: string, body: unknown): Promise<void>
  /** The cell has come: what waits for it goes out, what was not acknowledged once more. */
  connected(cellId: string): void
  /** Gives up what is over; call it about once a second. */
  sweep(): void
  /** Resolves when everything that happened is on the disk. */
  close(): Promise<void>
}

/** Commands from the wish to the cell's last word, on the disk at every step that matters. */
export const createCommands = async (parts: CommandsParts): Promise<Commands> => {
  const { ledger, signer, now, logger } = parts
  let prunedAt = now()
  // a disk that is full, or an audit in doubt, must not keep the coordinator from starting
  await forgetOld(ledger, prunedAt).catch(error =>
    logger.warn({ err: error }, 'old commands were not forgotten'),
  )
  const open = new OpenCommands()
  const fromBefore = new Set<string>()
  for (const record of await readOpen(ledger)) {
    open.set(record)
    if (record.state === 'queued') fromBefore.add(record.id)
  }
  const changed = new WriteBehind(
    records => updateCommands(ledger, records),
    (error, commands) => logger.error({ err: error, commands }, 'commands not kept'),
  )

  const change = (record: CommandRecord, values: Partial<CommandRecord>): CommandRecord => {
    const next = { ...record, ...values, updatedAt: now() }
    if (isFinal(next.state)) open.delete(next)
    else open.set(next)
    fromBefore.delete(next.id)
    changed.add(next)
    return next
  }

  const get: Commands['get'] = async id =>
    open.get(id) ?? changed.get(id) ?? (await readCommand(ledger, id))

  const prune = (): void => {
    prunedAt = now()
    forgetOld(ledger, prunedAt).catch(error =>
      logger.warn({ reason: error.message }, 'old commands not removed'),
    )
  }

  const send = (record: CommandRecord): void => {
    if (!maySend(record, now()) || !parts.isHere(record.cellId)) return
    const sent = change(record, { state: 'sent', sends: record.sends + 1 })
    publish(sent).catch(error =>
      logger.warn({ command: record.id, reason: error.message }, 'command not sent'),
    )
  }

  /** What acts in the world goes out only when the disk knows that it may have run. */
  const publish = async (sent: CommandRecord): Promise<void> => {
    if (ACTING.includes(sent.hazard)) await updateCommands(ledger, [sent])
    await parts.publish(signedNow(sent.signed, signer))
  }

  const verbOf = ({ cellId, verb }: CommandRequest): VerbFacts => {
    const verbs = parts.verbs(cellId)
    if (verbs === undefined)
      throw new ShoalError('cell_unavailable', `${cellId} has not told what it can do`)
    const facts = verbs.find(facts => facts.verb === verb)
    if (facts !== undefined) return facts
    const known = verbs.map(({ verb }) => verb).join(', ')
    throw new ShoalError('invalid_request', `${cellId} cannot ${verb}; it can ${known}`, {
      param: 'verb',
    })
  }

  const refuse = async (request: CommandRequest, by: Actor, reason: string): Promise<never> => {
    await ledger.sealed.write(trx => appendAudit(trx, auditOf(request, by, 'refused', { reason })))
    throw new ShoalError('forbidden', reason)
  }

  const create: Commands['create'] = async (request, by) => {
    const facts = verbOf(request)
    requireSignable(request)
    if (facts.hazard === 'unsafe' && request.mode === 'live')
      return refuse(request, by, `${facts.verb} is unsafe and needs ${UNSAFE_GATE}`)
    const waiting = open.ofCell(request.cellId).length
    if (waiting >= MAX_OPEN)
      throw new ShoalError('rate_limited', `${waiting} commands of ${request.cellId} are open`, {
        retryAfterSeconds: 5,
      })
    const record = await ledger.sealed.write(async trx => {
      const fence = await nextFence(trx, request.cellId, now())
      const signed = signCommand(unsignedOf(request, facts, fence, now()), signer)
      const made = newRecord(signed, facts.timeout_seconds, by.actor)
      await insertCommand(trx, made, auditOf(request, by, 'done', { command: made.id }))
      return made
    })
    open.set(record)
    send(record)
    return open.get(record.id) ?? record
  }

  const acknowledge: Commands['acknowledge'] = async (cellId, body) => {
    const ack = Ack.parse(body)
    const key = await parts.cellKey(cellId)
    if (key === undefined || ack.cell_id !== cellId || !isGenuineAck(ack, key)) {
      logger.warn({ cell: cellId, command: ack.command_id }, 'an ack is not signed by the cell')
      return
    }
    const id = ack.command_id
    const record = await get(id)
    if (record?.cellId !== cellId || !follows(record.state, ack.state, record.reason)) return
    const { state, reason, message, result } = ack
    change(withoutWhy(record), { state, ...given({ reason, message, result }) })
  }

  return {
    create,
    get,
    list: async filter =>
      (await readCommands(ledger, filter)).map(
        kept => open.get(kept.id) ?? changed.get(kept.id) ?? kept,
      ),
    acknowledge,
    connected: cellId => {
      for (const record of open.ofCell(cellId)) send(record)
    },
    sweep: () => {
      for (const record of open.all())
        if (now() >= deadlineOf(record)) change(record, givenUp(record, fromBefore.has(record.id)))
      changed.flush()
      if (now() - prunedAt >= PRUNE_EVERY_MS) prune()
    },
    close: () => changed.settled(),
  }
}

/** For news that do not say why: what was said of an earlier state does not hold any more. */
const withoutWhy = ({ reason, message, ...record }: CommandRecord): CommandRecord => record

/** After a change of the coordinator's key cells believe only the new one. */
const signedNow = (command: Command, signer: Signer): Command => {
  const { signature, key_id, ...unsigned } = command
  return key_id === signer.publicKey ? command : signCommand(unsigned, signer)
}

/** What has no canonical form cannot be signed: half a character, for instance. */
const requireSignable = ({ params }: CommandRequest): void => {
  try {
    if (Buffer.byteLength(canonicalJson(params)) <= MAX_PARAMS_BYTES) return
  } catch (cause) {
    const { message } = cause as Error
    throw new ShoalError('invalid_request', message, { param: 'params', cause })
  }
  throw new ShoalError('invalid_request', `params are larger than ${MAX_PARAMS_BYTES} bytes`, {
    param: 'params',
  })
}

const given = <T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never

const unsignedOf = (
  { cellId, verb, params, mode, ttlSeconds }: CommandRequest,
  { hazard }: VerbFacts,
  fence: number,
  now: number,
): Omit<Command, 'key_id' | 'signature'> => ({
  id: newId('cmd', now),
  cell_id: cellId,
  verb,
  params: params as Command['params'],
  hazard,
  mode,
  issued_at: now,
  not_before: now,
  expires_at: now + ttlSeconds * 1000,
  fence,
})

/** Parameters are not written into the audit by themselves: they may hold what is secret. */
const auditOf = (
  { cellId, verb, mode, noted }: CommandRequest,
  by: Actor,
  outcome: AuditEntry['outcome'],
  details: Record<string, unknown>,
): AuditEntry => ({
  ...by,
  action: 'command.create',
  subject: cellId,
  outcome,
  details: { verb, mode, ...noted, ...details },
})
