export interface ChatMessage {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  content: string | null
  [field: string]: unknown
}

/** The fields of OpenAI's chat completions; `stream` follows from the method. */
export interface ChatRequest {
  model: string
  messages: ChatMessage[]
  temperature?: number
  max_tokens?: number
  [field: string]: unknown
}

export interface Usage {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
}

export interface ChatCompletion {
  id: string
  object: 'chat.completion'
  created: number
  model: string
  choices: {
    index: number
    message: { role: 'assistant'; content: string | null; [field: string]: unknown }
    finish_reason: string
  }[]
  usage: Usage
}

export interface ChatChunk {
  id: string
  object: 'chat.completion.chunk'
  created: number
  model: string
  choices: {
    index: number
    delta: { role?: string; content?: string | null; [field: string]: unknown }
    finish_reason: string | null
  }[]
  usage?: Usage | null
}

export interface Model {
  id: string
  object: 'model'
  created: number
  owned_by: string
}
