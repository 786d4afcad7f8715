import type { GateViews } from '../../access/gates/open.ts'
import type { KeyViews } from '../../access/keys/open.ts'
import type { Actor } from '../../kernel/audit/audit.ts'
import type { CallSkill, Context, TaskCaller } from '../../kernel/declaration/context.ts'
import type { CallViews } from './call-views.ts'
import type { Call } from './invocation.ts'

/** Views that the pipeline itself needs; the object has those of every domain. */
export type PipelineViews = CallViews & GateViews & KeyViews

/** The actor in the audit for a caller. */
export const actorOf = ({ key, requestId }: Pick<TaskCaller, 'key' | 'requestId'>): Actor => ({
  actor: key === undefined ? 'anonymous' : `key:${key.id}`,
  requestId,
})

/** Everything one call may use, whatever surface it came through. */
export const contextFor = (
  views: PipelineViews,
  { caller, cellId, upload, listener }: Pick<Call, 'caller' | 'cellId' | 'upload' | 'listener'>,
  { signal, callSkill }: { signal: AbortSignal; callSkill: CallSkill },
): Context & PipelineViews => ({
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
