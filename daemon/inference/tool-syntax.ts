/**
 * Form of a call in the text of an answer. Models write the form that their chat template shows:
 *
 * - `hermes`: `<tool_call>{"name": …, "arguments": …}</tool_call>`, each call by itself
 *   (NousResearch/Hermes-Function-Calling; Qwen 2.5 and 3 write the same)
 * - `llama`: `{"name": …, "parameters": …}` as the whole answer, at times after `<|python_tag|>`
 *   (meta-llama/llama-models, models/llama3_1/prompt_format.md)
 * - `mistral`: `[TOOL_CALLS][{"name": …, "arguments": …}]`, all calls in one list
 *   (mistralai/mistral-common, tokenizers v3 and v7)
 * - `mistral-args`: `[TOOL_CALLS]name[ARGS]{…}`, with `[CALL_ID]` between them in v11
 *   (the same, v11 and v13)
 */
export type CallShape = 'hermes' | 'llama' | 'mistral' | 'mistral-args'

export interface CallSyntax {
  /** A call, or a list of them, begins here. */
  begin: string
  /** Text that must follow the call. */
  end: string
  /** A call may also begin without the mark, where nothing but calls was written before. */
  bare: boolean
  /** Tokens before the function's name when everything else is JSON, without white space. */
  head: readonly string[]
  /** The key of the arguments. */
  key: string
}

export const CALL_BEGIN = '<tool_call>'
export const CALL_END = '</tool_call>'
export const CALL_ID = '[CALL_ID]'
export const CALL_ARGUMENTS = '[ARGS]'

const OBJECT_HEAD = ['{', '"name"', ':', '"']

export const CALL_SYNTAX: Record<CallShape, CallSyntax> = {
  hermes: {
    begin: CALL_BEGIN,
    end: CALL_END,
    bare: false,
    head: OBJECT_HEAD,
    key: 'arguments',
  },
  llama: { begin: '<|python_tag|>', end: '', bare: true, head: OBJECT_HEAD, key: 'parameters' },
  mistral: {
    begin: '[TOOL_CALLS]',
    end: '',
    bare: false,
    head: ['[', ...OBJECT_HEAD],
    key: 'arguments',
  },
  'mistral-args': { begin: '[TOOL_CALLS]', end: '', bare: false, head: [], key: '' },
}

/** Texts that mark calls; they are shown even where they are special tokens. */
export const callMarks = (shape: CallShape): string[] => {
  const { begin, end } = CALL_SYNTAX[shape]
  const inner = shape === 'mistral-args' ? [CALL_ID, CALL_ARGUMENTS] : []
  return [begin, end, ...inner].filter(mark => mark !== '')
}

/**
 * The form of calls that a chat template (`tokenizer.chat_template`) teaches. Undefined when it
 * teaches none, or one that is not JSON: Qwen 3 Coder's `<function=`, GLM's `<arg_key>`.
 */
export const callShapeOf = (template: string): CallShape | undefined => {
  const has = (text: string): boolean => template.includes(text)
  if (has('[TOOL_CALLS]')) return has(CALL_ARGUMENTS) ? 'mistral-args' : 'mistral'
  if (has(CALL_BEGIN)) return has('<function=') || has('<arg_key>') ? undefined : 'hermes'
  return has('ipython') && has('"parameters": ') ? 'llama' : undefined
}
