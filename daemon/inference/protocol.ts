/**
 * What the daemon and an engine child say to each other over the child's IPC channel. Both run
 * the same version, so nothing here is negotiated.
 */
import type { CallShape } from './tool-syntax.ts'
import type { Measured } from './tuning/choose.ts'

export type Order = LoadOrder | MeasureOrder | ChatOrder | EmbedOrder | CancelOrder

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

/** Instead of `load`: the child only measures. */
export interface MeasureOrder {
  type: 'measure'
  /** Absolute path of a GGUF file that has passed the pre-check. */
  file: string
  contextLength: number
  gpu: 'auto' | 'off'
  /** Numbers to try, each with each. */
  slots: readonly number[]
  threads: readonly number[]
  /** For all of it, loading excluded. */
  budgetMs: number
}

export interface PlainMessage {
  role: 'system' | 'user' | 'assistant' | 'tool'
  text: string
  /** Of an assistant that called functions. */
  calls?: readonly PlainCall[]
  /** Of a tool: which call it answers. */
  callId?: string
}

export interface PlainCall {
  id: string
  name: string
  /** JSON as text, as the model wrote it; it may be broken. */
  arguments: string
}

/** A function the model may call. */
export interface PlainTool {
  name: string
  description?: string
  /** JSON Schema. */
  parameters: Readonly<Record<string, unknown>>
}

/** What an answer must look like. */
export interface Grammar {
  /** GBNF (llama.cpp, grammars/README.md) with the rule `root`. */
  text: string
  /** The field of the request it was made of. */
  param: string
}

/** Which functions an answer may call, and what must stand in it besides. */
export interface CallRules {
  /** GBNF without the rule `root`. */
  rules: string
  /** Those that may be called; `rule` is the name of the rule for the arguments. */
  functions: readonly { name: string; rule: string }[]
  /** Absent: the model may call or write what it likes, and each call is held once it has begun. */
  whole?: boolean
  /** With `whole`: the name of a rule for what may stand instead of calls. */
  instead?: string
  /** More than one call in an answer. */
  parallel: boolean
  /** The field of the request that the rules were made of. */
  param: string
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
  /** Continued as it is, without the chat template and instead of the messages: text or token ids. */
  prompt?: string | readonly number[]
  /** The prompt is put before the answer; with `topLogprobs` its tokens are scored as well. */
  echo?: boolean
  contextLength: number
  /** The rest of the context when absent. */
  maxTokens?: number
  sampling: Sampling
  grammar?: Grammar
  /** Put into the prompt. */
  tools?: readonly PlainTool[]
  /** With `tools`, and instead of a grammar. */
  calls?: CallRules
  /** The tokens and their log-probabilities are wanted, with so many alternatives each. */
  topLogprobs?: number
  /** Only of so many tokens at the beginning; what follows comes without. */
  logprobTokens?: number
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

export type Reply = ProgressReply | ReadyReply | FailedReply | StepReply | MeasuredReply

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

export interface MeasuredReply {
  type: 'measured'
  rows: readonly Measured[]
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

export interface TokenChance {
  /** Holds replacement characters where the token alone is no whole character. */
  text: string
  /** Natural logarithm, not below -9999. */
  logprob: number
}

/** A chosen token; one that only begins a character has no text, the last of it has all. */
export interface TokenInfo extends TokenChance {
  /** The most likely tokens, the best first. */
  top: readonly TokenChance[]
}

/** A token of the prompt; the first has no logprob. */
export interface ScoredToken extends Omit<TokenInfo, 'logprob'> {
  logprob: number | null
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
      /** With `tools`: the form in which the answer calls them. */
      callShape?: CallShape
    }
  /** The prompt, with `echo`. */
  | { type: 'echo'; job: number; text: string; tokens?: readonly ScoredToken[] }
  /** With `topLogprobs` also the tokens; their texts together are the text. */
  | { type: 'text'; job: number; text: string; tokens?: readonly TokenInfo[] }
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
