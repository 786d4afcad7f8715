/** Function of a module that reduces a parsed document in the process that parsed it. */
interface DocumentReader {
  /** `import.meta.url` of the module. */
  module: string
  /** Name of an exported function `(document, input) => value`; what it returns can be cloned. */
  name: string
  input?: unknown
}

/** How a foreign document is read. */
export interface Reading {
  format: 'json' | 'yaml' | 'xml' | 'text'
  /** XML elements that are lists, even where there is one of them. */
  lists?: readonly string[]
  /** Names of XML elements lose their prefix. */
  dropsPrefixes?: boolean
  reader?: DocumentReader
  limits?: Partial<DocumentLimits>
}

/** Bounds of a document; `maxValues` and `maxDepth` hold for what is left of it after its reader. */
export interface DocumentLimits {
  maxBytes: number
  /** Values of every kind: texts, numbers, lists, objects. */
  maxValues: number
  maxDepth: number
  maxSeconds: number
}

const DOCUMENT_LIMITS: DocumentLimits = {
  maxBytes: 32 * 1024 * 1024,
  maxValues: 50_000,
  maxDepth: 64,
  maxSeconds: 5,
}

export const limitsOf = ({ limits }: Reading): DocumentLimits => ({ ...DOCUMENT_LIMITS, ...limits })

/** `misshapen` documents lack what their reader needs. */
type DocumentFault = 'damaged' | 'misshapen' | 'excessive' | 'busy'

/** A document that was not read. The message completes "the document …" and repeats none of it. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError'
  readonly fault: DocumentFault

  constructor(fault: DocumentFault, message: string) {
    super(message)
    this.fault = fault
  }
}
