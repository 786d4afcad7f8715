import type { Actor } from '../../kernel/audit/audit.ts'
import type { CallSkill, Context, TaskCaller, Views } from '../../kernel/declaration/context.ts'
import type { Call } from './invocation.ts'

/** The actor in the audit for a caller. */
export const actorOf = ({ key, requestId }: Pick<TaskCaller, 'key' | 'requestId'>): Actor => ({
  actor: key === undefined ? 'anonymous' : `key:${key.id}`,
  requestId,
})

/** Everything one call may use, whatever surface it came through. */
export const contextFor = (
  views: Views,
  { caller, cellId, upload, listener }: Pick<Call, 'caller' | 'cellId' | 'upload' | 'listener'>,
  { signal, callSkill }: { signal: AbortSignal; callSkill: CallSkill },
): Context => ({
  ...views,
  key: caller.key,
  tenantId: caller.tenantId,
  requestId: caller.requestId,
  address: caller.address,
  actor: actorOf(caller),
  signal,
  cellId,
  upload,
  progress: listener?.progress ?? ignore,
  tell: listener?.tell,
  callSkill,
})

const ignore = (): void => {}
