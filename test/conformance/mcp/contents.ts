/** The smallest pictures and sounds there are. */
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='

export const text = (text: string) => ({ type: 'text' as const, text })
export const image = { type: 'image' as const, data: PNG, mimeType: 'image/png' }
export const audio = { type: 'audio' as const, data: WAV, mimeType: 'audio/wav' }
export const resource = (uri: string, mimeType: string, text: string) => ({
  type: 'resource' as const,
  resource: { uri, mimeType, text },
})
