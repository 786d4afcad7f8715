/**
 * What the daemon and an engine child say to each other over the child's IPC channel. Both run
 * the same version, so nothing here is negotiated.
 */
export type Order = LoadOrder | ChatOrder | EmbedOrder | CancelOrder

export interface LoadOrder {
  type: 'load'
  /** Absolute path of a GGUF file that has passed the pre-check. */
  file: string
  kind: 'chat' | 'embedding'
  slots: number
  /** Tokens of one request: prompt and answer. */
  contextLength: number
  threads: number
  gpu: 'auto' | 'off'
}

export interface PlainMessage {
  role: 'system' | 'user' | 'assistant'
  text: string
}

/** Neutral values: 1, 1, any, [], 0, 0, []. */
export interface Sampling {
  /** 0 is greedy. */
  temperature: number
  topP: number
  /** 0 to 2^32-2. */
  seed: number
  stop: readonly string[]
  frequencyPenalty: number
  presencePenalty: number
  /** Token id and what is added to its logit. */
  logitBias: readonly (readonly [number, number])[]
}

export interface ChatOrder {
  type: 'chat'
  job: number
  messages: readonly PlainMessage[]
  contextLength: number
  /** The rest of the context when absent. */
  maxTokens?: number
  sampling: Sampling
}

export interface EmbedOrder {
  type: 'embed'
  job: number
  inputs: readonly (string | readonly number[])[]
  contextLength: number
}

export interface CancelOrder {
  type: 'cancel'
  job: number
}

export type Reply = ProgressReply | ReadyReply | FailedReply | StepReply

/** How much of the weights is loaded; a few times a second. */
export interface ProgressReply {
  type: 'progress'
  percent: number
}

export interface ReadyReply {
  type: 'ready'
  slots: number
  contextLength: number
  /** `cuda`, `vulkan`, `metal` or `cpu`. */
  device: string
  loadMs: number
}

/** The model cannot be loaded. The child ends by itself. */
export interface FailedReply {
  type: 'failed'
  reason: string
  /** True when it may work later: memory that others use now. */
  transient: boolean
}

/** At most one per engine step, with what happened in all slots since the last one. */
export interface StepReply {
  type: 'step'
  events: readonly JobEvent[]
  counts: StepCounts
}

/** Sums since the child started. `width / active` is how full the batches are; 1 is best. */
export interface StepCounts {
  steps: number
  /** Slots that took part. */
  width: number
  /** Slots that were generating or reading a prompt. */
  active: number
  tokens: number
}

export type EndReason = 'stop' | 'length' | 'cancelled'

export type JobEvent =
  | {
      type: 'start'
      job: number
      promptTokens: number
      cachedTokens: number
      /** The bound that holds: asked, or what the context leaves. */
      maxTokens: number
    }
  | { type: 'text'; job: number; text: string }
  | {
      type: 'end'
      job: number
      reason: EndReason
      completionTokens: number
    }
  | { type: 'vectors'; job: number; vectors: readonly Float32Array[]; promptTokens: number }
  | { type: 'refused'; job: number; code: RefusalCode; message: string; param: string | undefined }

export type RefusalCode =
  | 'context_length_exceeded'
  | 'invalid_request'
  | 'unsupported_parameter'
  /** The engine itself failed; another cell may do better. */
  | 'cell_unavailable'
