export type {
  ChatChunk,
  ChatCompletion,
  ChatMessage,
  ChatRequest,
  Model,
  Usage,
} from './chat.ts'
export { type PendingAnswer, ShoalClient, type ShoalClientOptions } from './client.ts'
export { GateNotApproved, ShoalError } from './errors.ts'
export {
  type AuditFilter,
  type AuditRow,
  AuditTrail,
  ComplianceCheck,
  type Framework,
  GateCheck,
  type GateStatus,
  type PolicyAnswer,
  PolicyCheck,
} from './governance.ts'
export type { Operations, Skills } from './operations.ts'
export type { Call } from './transport.ts'
