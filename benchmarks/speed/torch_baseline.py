"""Models of torch's own modules, as one writes them by hand: what our training speed is measured against."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.nn.position import sinusoids


class Transformer(nn.Module):
    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 256)
        nn.init.normal_(self.embedding.weight, std=256**-0.5)
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self.transformer = nn.Transformer(256, 4, 3, 3, 1024, 0.1, batch_first=True, norm_first=True)
        self.dropout = nn.Dropout(0.1)
        self.positions = nn.Buffer(sinusoids(1024, 256))

    def embed(self, y: Tensor) -> Tensor:
        x: Tensor = self.dropout(self.embedding(y) * 16.0 + self.positions[: y.shape[1]])
        return x

    def forward(self, src: Tensor, pad: Tensor, tgt: Tensor) -> Tensor:
        causal = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1])
        h = self.transformer(
            self.embed(src),
            self.embed(tgt),
            tgt_mask=causal,
            src_key_padding_mask=pad,
            memory_key_padding_mask=pad,
            tgt_is_causal=True,
        )
        return F.linear(h, self.embedding.weight, self.bias)


class Recurrent(nn.Module):
    """A bidirectional LSTM, an LSTM over the whole target, and Luong's attention in one product."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 256)
        nn.init.normal_(self.embedding.weight, std=256**-0.5)
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self.encoder = nn.LSTM(256, 256, bidirectional=True, batch_first=True)
        self.bridge = nn.Linear(512, 512)
        self.decoder = nn.LSTM(256, 512, batch_first=True)
        self.W_a = nn.Linear(512, 512, bias=False)
        self.W_c = nn.Linear(1024, 256, bias=False)
        self.dropout = nn.Dropout(0.3)

    def forward(self, src: Tensor, pad: Tensor, tgt: Tensor) -> Tensor:
        lengths = (~pad).sum(1)
        packed = nn.utils.rnn.pack_padded_sequence(
            self.dropout(self.embedding(src)), lengths, batch_first=True, enforce_sorted=False
        )
        states, (h, _) = self.encoder(packed)
        memory = self.dropout(nn.utils.rnn.pad_packed_sequence(states, batch_first=True)[0])
        first = torch.tanh(self.bridge(torch.cat((h[0], h[1]), dim=1))).unsqueeze(0)
        s = self.dropout(self.decoder(self.dropout(self.embedding(tgt)), (first, torch.zeros_like(first)))[0])
        scores = (self.W_a(s) @ memory.transpose(1, 2)).masked_fill(pad.unsqueeze(1), -torch.inf)
        c = scores.softmax(dim=2) @ memory
        h = self.dropout(torch.tanh(self.W_c(torch.cat((c, s), dim=2))))
        return F.linear(h, self.embedding.weight, self.bias)


MODELS: dict[str, Callable[[int], nn.Module]] = {"transformer": Transformer, "recurrent": Recurrent}
