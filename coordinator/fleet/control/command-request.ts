import { canonicalJson } from '../../../shared/canonical-json.ts'
import { ShoalError } from '../../../shared/errors.ts'
import type { Signer } from '../../../shared/signing.ts'
import { signApproval } from '../../../shared/wire/approval.ts'
import type { ApprovedPlan } from '../../../shared/wire/approved-plan.ts'
import { COMMAND_KEYS, NEEDS, requireLevel, withholdKeys } from '../../../shared/wire/capability.ts'
import {
  type Command,
  type Hazard,
  MAX_RESULT_BYTES,
  signCommand,
} from '../../../shared/wire/command.ts'
import type { Actor, AuditEntry } from '../../kernel/audit/audit.ts'

/** A command must fit into a packet and a line of the cell's journal. */
const MAX_PARAMS_BYTES = 32 * 1024

export interface CommandRequest {
  cellId: string
  /** A device of the cell; absent for the cell itself. */
  deviceId?: string
  verb: string
  params: Record<string, unknown>
  mode: Command['mode']
  ttlSeconds: number
  /** Hazard according to the plan of these parameters; defaults to the highest of the verb. */
  hazard?: Hazard
  /** Parameters that may be recorded in the audit. */
  noted?: Record<string, string>
}

/** Inputs of a command other than the request itself. */
interface CommandInputs {
  id: string
  hazard: Hazard
  fence: number
  approval?: ApprovedPlan | undefined
  /** Capability level of the cell. */
  level: number
  signer: Signer
  now: number
}

type Unsigned = Omit<Command, 'key_id' | 'signature'>

/** Throws `conflict` when the approval has expired: a command never outlives its approval. */
export const makeCommand = (request: CommandRequest, making: CommandInputs): Command => {
  const { cellId, deviceId, verb, params, mode, ttlSeconds } = request
  const { id, hazard, fence, approval, level, signer, now } = making
  const approvedUntil = approval?.approval.expires_at ?? Number.POSITIVE_INFINITY
  if (now >= approvedUntil)
    throw new ShoalError('conflict', `the approval of ${verb} has expired; request it again`)
  const command: Unsigned = {
    id,
    cell_id: cellId,
    ...(deviceId === undefined ? {} : { device_id: deviceId }),
    verb,
    params: params as Command['params'],
    hazard,
    mode,
    issued_at: now,
    not_before: now,
    expires_at: Math.min(now + ttlSeconds * 1000, approvedUntil),
    fence,
    ...(approval === undefined ? {} : { approval }),
    max_result_bytes: MAX_RESULT_BYTES,
  }
  return signCommand(withholdKeys(command, COMMAND_KEYS, level), signer)
}

/**
 * The command as a cell of this level takes it now. After a change of the coordinator's key cells
 * believe only the new one, also in what was approved before.
 */
export const signForLevel = (command: Command, level: number, signer: Signer): Command => {
  const { signature, key_id, ...body } = command
  const known = withholdKeys(body, COMMAND_KEYS, level)
  const isWhole = Object.keys(known).length === Object.keys(body).length
  if (key_id === signer.publicKey && isWhole) return command
  const approval = known.approval && signApprovedPlan(known.approval, signer)
  return signCommand(approval === undefined ? known : { ...known, approval }, signer)
}

const signApprovedPlan = ({ plan, approval }: ApprovedPlan, signer: Signer): ApprovedPlan => {
  const { signature, key_id, ...body } = approval
  return { plan, approval: signApproval(body, signer) }
}

/** Throws `conflict` for a command that a cell of this level could not verify. */
export const requireCapable = (
  { cell_id, device_id, hazard, mode, approval }: Judged,
  level: number,
): void => {
  if (device_id !== undefined) requireLevel(cell_id, level, NEEDS.devices, 'a command for a device')
  if (approval !== undefined || (hazard === 'unsafe' && mode === 'live'))
    requireLevel(cell_id, level, NEEDS.approval, 'a command that people approve')
}

type Judged = Pick<Command, 'cell_id' | 'device_id' | 'hazard' | 'mode' | 'approval'>

/**
 * Throws `invalid_request` for parameters that are too large or cannot be signed, because they have
 * no canonical form (a lone surrogate, for instance).
 */
export const requireSignable = ({ params }: CommandRequest): void => {
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

/** Audit entry of a new command. Only `noted` parameters are included: the others may be secret. */
export const creationOf = (
  { cellId, deviceId, verb, mode, noted }: CommandRequest,
  by: Actor & { at: number },
  outcome: AuditEntry['outcome'],
  details: Record<string, unknown>,
): AuditEntry => ({
  ...by,
  action: 'command.create',
  subject: cellId,
  outcome,
  details: {
    verb,
    mode,
    ...(deviceId === undefined ? {} : { device: deviceId }),
    ...noted,
    ...details,
  },
})
