/**
 * How a call stands in the text of an answer: `<tool_call>{"name": …, "arguments": …}</tool_call>`
 * (NousResearch/Hermes-Function-Calling; Qwen 2.5 and 3 write the same).
 */
export const CALL_BEGIN = '<tool_call>'
export const CALL_END = '</tool_call>'
