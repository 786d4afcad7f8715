import type { Key } from '../../kernel/declaration/key.ts'

export interface EmbeddingCaller {
  key: Key
  tenantId: string
  requestId: string
  signal: AbortSignal
}

export type Vector = readonly number[]

/** Embedding models, as operations see them. */
export interface EmbeddingViews {
  embeddings: Embeddings
}

/** Embedding models of the fleet, asked on behalf of a key. */
export interface Embeddings {
  /** Embedding model that the key may use and a cell serves now; undefined when there is none. */
  find(key: Key): string | undefined
  /**
   * Vectors of texts, in their order. What was embedded before is remembered; the rest is one request
   * of the key, as `POST /v1/embeddings` is. Throws the errors that a client would receive.
   */
  embed(model: string, texts: readonly string[], by: EmbeddingCaller): Promise<Vector[]>
}
