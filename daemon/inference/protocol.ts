/**
 * Messages between the daemon and an engine child over the child's IPC channel. Both run the same
 * version, so nothing here is negotiated.
 */
import type { ModelKind } from '../../shared/catalogue.ts'
import type { CallShape } from './tool-syntax.ts'

export type Order = LoadOrder | MeasureOrder | JobOrder | CancelOrder

/** An order that is one request. */
export type JobOrder = ChatOrder | EmbedOrder | RankOrder

export interface LoadOrder {
  type: 'load'
  /** Absolute path of a GGUF file that has passed the pre-check. */
  file: string
  kind: ModelKind
  slots: number
  /** Tokens of one request: prompt and answer. */
  contextLength: number
  threads: number
  gpu: 'auto' | 'off'
}

/** Measured throughput for a number of streams and threads. */
export interface ThroughputMeasurement {
  slots: number
  threads: number
  /** Sum over all streams. */
  tokensPerSecond: number
}

/** Order to measure instead of `load`; the child does nothing else. */
export interface MeasureOrder {
  type: 'measure'
  /** Absolute path of a GGUF file that has passed the pre-check. */
  file: string
  contextLength: number
  gpu: 'auto' | 'off'
  /** Numbers to try, each with each. */
  slots: readonly number[]
  threads: readonly number[]
  /** Time limit for the whole measurement, excluding loading. */
  budgetMs: number
}

export interface PlainMessage {
  role: 'system' | 'user' | 'assistant' | 'tool'
  text: string
  /** Calls of an assistant message. */
  calls?: readonly PlainCall[]
  /** Id of the call that a tool message answers. */
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

/** Grammar that an answer must match. */
interface Grammar {
  /** GBNF (llama.cpp, grammars/README.md) with the rule `root`. */
  text: string
  /** The field of the request it was made of. */
  param: string
}

/** Functions that an answer may call, and the form of such answers. */
export interface CallRules {
  /** GBNF without the rule `root`. */
  rules: string
  /** Callable functions; `rule` is the name of the rule for the arguments. */
  functions: readonly { name: string; rule: string }[]
  /** Absent: the model may call or write freely, and each call is constrained once it has begun. */
  whole?: boolean
  /** Name of a rule for text that is allowed in place of calls; requires `whole`. */
  instead?: string
  /** More than one call in an answer. */
  parallel: boolean
  /** The field of the request that the rules were made of. */
  param: string
}

/** Neutral values: 1, 1, any, [], 0, 0, []. */
export interface SamplingOrder {
  /** 0 is greedy. */
  temperature: number
  topP: number
  /** 0 to 2^32-2. */
  seed: number
  stop: readonly string[]
  frequencyPenalty: number
  presencePenalty: number
  /** All tokens when absent. */
  topK?: number
  /** 0 when absent. */
  minP?: number
  /** 1 when absent. */
  repeatPenalty?: number
  /** Token id and the value added to its logit. */
  logitBias: readonly (readonly [number, number])[]
}

export interface ChatOrder {
  type: 'chat'
  job: number
  messages: readonly PlainMessage[]
  /** Text or token ids that are continued without chat template, in place of the messages. */
  prompt?: string | readonly number[]
  /** The prompt is put before the answer; with `topLogprobs` its tokens are scored as well. */
  echo?: boolean
  contextLength: number
  /** The rest of the context when absent. */
  maxTokens?: number
  sampling: SamplingOrder
  grammar?: Grammar
  /** Tools that are put into the prompt. */
  tools?: readonly PlainTool[]
  /** Rules for calls, with `tools` and in place of a grammar. */
  calls?: CallRules
  /** Number of alternatives; when present, tokens and their log probabilities are returned. */
  topLogprobs?: number
  /** Number of leading tokens with log probabilities; later tokens have none. */
  logprobTokens?: number
}

export interface EmbedOrder {
  type: 'embed'
  job: number
  inputs: readonly (string | readonly number[])[]
  contextLength: number
}

export interface RankOrder {
  type: 'rank'
  job: number
  query: string
  documents: readonly string[]
  contextLength: number
}

interface CancelOrder {
  type: 'cancel'
  job: number
}

export type EngineReply =
  | ProgressReply
  | ReadyReply
  | FailedReply
  | StepReply
  | MeasuredReply
  | BeatReply

/** The process lives: sent while it has work, whether it makes steps or not. */
interface BeatReply {
  type: 'beat'
}

/** Loaded share of the weights, sent a few times a second. */
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

interface MeasuredReply {
  type: 'measured'
  rows: readonly ThroughputMeasurement[]
}

/** The model cannot be loaded. The child exits afterwards. */
export interface FailedReply {
  type: 'failed'
  reason: string
  /** True when it may work later: memory that others use now. */
  transient: boolean
}

/** Events of all slots since the previous message; at most one message per engine step. */
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
  /** Text of the token, with replacement characters where it is not a complete character. */
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
      /** Effective limit: as requested, or what the context leaves. */
      maxTokens: number
      /** Form of the calls in the answer; present with `tools`. */
      callShape?: CallShape
    }
  /** Text of the prompt, sent with `echo`. */
  | { type: 'echo'; job: number; text: string; tokens?: readonly ScoredToken[] }
  /** Piece of the answer. `tokens` is present with `topLogprobs`; its joined texts equal `text`. */
  | { type: 'text'; job: number; text: string; tokens?: readonly TokenInfo[] }
  | {
      type: 'end'
      job: number
      reason: EndReason
      completionTokens: number
    }
  | { type: 'vectors'; job: number; vectors: readonly Float32Array[]; promptTokens: number }
  /** Relevance of each document, from 0 to 1. */
  | { type: 'scores'; job: number; scores: readonly number[]; promptTokens: number }
  | { type: 'refused'; job: number; code: RefusalCode; message: string; param: string | undefined }

export type RefusalCode =
  | 'context_length_exceeded'
  | 'invalid_request'
  | 'unsupported_parameter'
  /** The engine itself failed; another cell may do better. */
  | 'cell_unavailable'
