import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import * as z from 'zod'
import { CommandExecutor } from '../../../daemon/commands/executor.ts'
import { CommandJournal, type JournalFile } from '../../../daemon/commands/journal.ts'
import { openJournalFile } from '../../../daemon/commands/journal-file.ts'
import type { DeviceVerbs, Verb } from '../../../daemon/commands/verb.ts'
import { newId } from '../../../shared/ids.ts'
import { createSigner, generatePrivateKey } from '../../../shared/signing.ts'
import { type Ack, type Command, type Hazard, signCommand } from '../../../shared/wire/command.ts'
import type { EngagedStop } from '../../../shared/wire/estop.ts'
import { approvalFor } from '../../support/approval-for.ts'
import { silent } from '../../support/cell.ts'

export const NOW = 1_800_000_000_000
export const CELL = newId('cell')
export const coordinatorSigner = createSigner(generatePrivateKey())
export const cell = createSigner(generatePrivateKey())

let fences = 0
/** A command that people have approved, where it needs that. */
export const command = (changes: Partial<Command> = {}, signer = coordinatorSigner): Command => {
  const body = {
    id: newId('cmd'),
    cell_id: CELL,
    verb: 'do-unsafe',
    params: {},
    hazard: 'unsafe' as const,
    mode: 'live' as const,
    issued_at: NOW,
    not_before: NOW,
    expires_at: NOW + 10_000,
    fence: ++fences,
    ...changes,
  }
  const needsApproval = body.hazard === 'unsafe' && !('approval' in changes)
  return signCommand(needsApproval ? { ...body, approval: approvalOf(body) } : body, signer)
}

const approvalOf = (
  { cell_id, verb, params, device_id }: Pick<Command, 'cell_id' | 'verb' | 'params' | 'device_id'>,
  expiresAt = NOW + 60_000,
) => {
  const device = device_id === undefined ? {} : { device_id }
  const part = { cell_id, ...device, verb, hazard: 'unsafe' as const, operations: [params] }
  return approvalFor(part, { signer: coordinatorSigner, expiresAt })
}

export const folderOf = (t: Test): string => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-commands-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** An executor on a real disk, whose clocks agree; what its verbs did is noted. */
export const rig = async (
  t: Test,
  given: {
    file?: JournalFile
    run?: Verb['run']
    timeoutSeconds?: number
    devices?: DeviceVerbs
    clock?: { nowMs: number }
    findStop?: (deviceId: string) => EngagedStop | undefined
  } = {},
) => {
  const file = given.file ?? openJournalFile(join(folderOf(t), 'commands.journal'))
  const journal = await CommandJournal.open(file, () => NOW)
  t.teardown(() => {
    stop.abort()
    return journal.close()
  })
  const ran: string[] = []
  const acks: Ack[] = []
  const stop = new AbortController()
  const verb = (hazard: Hazard): Verb => ({
    verb: `do-${hazard}`,
    description: '',
    hazard,
    timeout_seconds: given.timeoutSeconds ?? 30,
    params: z.strictObject({ speed: z.number().max(1).optional() }),
    plan: params => ({ operations: [params as Command['params']], bounds: {} }),
    run: async (part, context) => {
      ran.push(hazard)
      return given.run ? given.run(part, context) : { done: true }
    },
  })
  const executor = new CommandExecutor({
    cellId: CELL,
    signer: cell,
    listTrustedKeys: () => [coordinatorSigner.publicKey],
    verbs: (['read', 'safe', 'caution', 'unsafe'] as const).map(verb),
    devices: given.devices,
    journal,
    findStop: given.findStop,
    clock: { bounds: () => ({ earliest: NOW, latest: NOW }) },
    now: () => NOW,
    nowMs: () => given.clock?.nowMs ?? 0,
    acknowledge: ack => acks.push(ack),
    report: ack => acks.push(ack),
    signal: stop.signal,
    logger: silent,
  })
  await executor.recover()
  const obey = async (body: unknown): Promise<Ack | undefined> => {
    await executor.receive(body)
    await executor.waitUntilIdle()
    return acks.at(-1)
  }
  return { executor, obey, ran, acks, file, stop }
}
