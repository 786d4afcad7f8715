import { escapeHidden } from '../../shared/visible.ts'
import { type GateAnswer, type KnownAnswer, requestIdOf } from './known-answer.ts'
import { exitOfCommand, type SentCommand, waitForCommand } from './sent-command.ts'

/** Suggestion after an answer that needs a further step; undefined after any other. */
export const adviseOnAnswer = (known: KnownAnswer, method: string): string | undefined => {
  if (known.kind === 'command' || known.kind === 'device_command')
    return adviseOnCommand(known.value)
  if (known.kind === 'begun_task')
    return `shoal tasks show ${escapeHidden(known.value.task_id)} --wait waits for the outcome`
  if (known.kind !== 'gate_request') return undefined
  return known.value.status === 'pending'
    ? adviseOnPending(known.value, method)
    : adviseOnApproved(known.value)
}

const adviseOnCommand = (command: SentCommand): string | undefined => {
  const steps = [
    ...(command.mode === 'dry' ? [DRY] : []),
    ...(exitOfCommand(command) === undefined
      ? [`${waitForCommand(command)} waits for the outcome`]
      : []),
  ]
  return steps.length === 0 ? undefined : steps.join('\n')
}

const DRY = 'mode dry: the cell only validates the command; --mode live carries it out'

/** The line to approve a request; a person who reads it may reject it too. */
const adviseOnPending = (request: GateAnswer, method: string): string | undefined => {
  if (request.hint !== undefined) return escapeHidden(request.hint)
  const id = requestIdOf(request)
  if (id === undefined || request.waits_for === 'supervisor') return undefined
  const approve = `another person approves it with: shoal gates approve ${escapeHidden(id)}`
  return method === 'GET'
    ? `${approve}\nor rejects it with: shoal gates reject ${escapeHidden(id)} --reason …`
    : approve
}

/** The next step after an approval of a plan that the coordinator made itself. */
const adviseOnApproved = (request: GateAnswer): string | undefined => {
  const { state, subject, requester, requester_id, plan } = request
  if (state !== 'approved' || subject?.startsWith(OWN_SUBJECT) !== true) return undefined
  const person = escapeHidden(String(requester ?? requester_id))
  if (plan?.action === 'key.issue-to-visitor')
    return 'approved: the visitor reveals the key with the claim token'
  return plan?.action === 'key.issue'
    ? `approved: ${person} reveals the key with: shoal keys reveal ${escapeHidden(requestIdOf(request) ?? 'REQUEST_ID')}`
    : `approved: ${person} carries it out by repeating the same call`
}

/** Beginning of the subjects that are reserved for requests of the coordinator (docs/gates.md). */
export const OWN_SUBJECT = 'shoal:'
