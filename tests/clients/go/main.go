// Plays what it is told on standard input, one JSON object a line, with nats.go; answers each line when it is done.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Step is one line of the play.
type Step struct {
	Do, Subject, Reply, Stream, Consumer, Action, User, Pass, Name string
	Size, Batch, Times                                             int
	Expires, Delay, Timeout                                        int64
	Headers                                                        map[string]string
	Data                                                           json.RawMessage
}

// Player holds the connection.
type Player struct {
	url, user, pass string
	nc              *nats.Conn
	js              jetstream.JetStream
}

func (s *Step) message() *nats.Msg {
	size := s.Size
	if size == 0 {
		size = 4
	}
	if s.Data != nil {
		return &nats.Msg{Subject: s.Subject, Reply: s.Reply, Data: s.Data}
	}
	msg := &nats.Msg{Subject: s.Subject, Reply: s.Reply, Data: make([]byte, size), Header: nats.Header{}}
	for name, value := range s.Headers {
		msg.Header.Set(name, value)
	}
	return msg
}

func (s *Step) wait() time.Duration {
	if s.Timeout == 0 {
		return 5 * time.Second
	}
	return time.Duration(s.Timeout) * time.Millisecond
}

func settle(msg jetstream.Msg, action string) {
	switch action {
	case "nak":
		_ = msg.Nak()
	case "term":
		_ = msg.Term()
	case "progress":
		_ = msg.InProgress()
		_ = msg.Ack()
	case "ack":
		_ = msg.Ack()
	}
}

func (p *Player) play(s *Step) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.wait())
	defer cancel()
	switch s.Do {
	case "connect":
		user, pass := p.user, p.pass
		if s.User != "" {
			user, pass = s.User, s.Pass
		}
		nc, err := nats.Connect(p.url, nats.UserInfo(user, pass), nats.Name(s.Name), nats.NoReconnect(), nats.Compression(true))
		if err != nil {
			return err
		}
		p.nc = nc
		p.js, err = jetstream.New(nc)
		return err
	case "publish":
		_, err := p.js.PublishMsg(ctx, s.message(), jetstream.WithRetryAttempts(0))
		return err
	case "core":
		return p.nc.PublishMsg(s.message())
	case "listen":
		_, err := p.nc.Subscribe(s.Subject, func(*nats.Msg) {})
		return err
	case "request":
		_, err := p.nc.RequestWithContext(ctx, s.Subject, s.Data)
		return err
	case "fetch":
		consumer, err := p.js.Consumer(ctx, s.Stream, s.Consumer)
		if err != nil {
			return err
		}
		batch, err := consumer.Fetch(s.Batch, jetstream.FetchMaxWait(time.Duration(s.Expires)*time.Millisecond))
		if err != nil {
			return err
		}
		var messages []jetstream.Msg
		for msg := range batch.Messages() {
			messages = append(messages, msg)
		}
		time.Sleep(time.Duration(s.Delay) * time.Millisecond)
		for _, msg := range messages {
			settle(msg, s.Action)
		}
		return batch.Error()
	case "push":
		consumer, err := p.js.PushConsumer(ctx, s.Stream, s.Consumer)
		if err != nil {
			return err
		}
		action, delay := s.Action, time.Duration(s.Delay)*time.Millisecond
		_, err = consumer.Consume(func(msg jetstream.Msg) { time.AfterFunc(delay, func() { settle(msg, action) }) })
		return err
	case "flush":
		return p.nc.Flush()
	case "close":
		p.nc.Close()
	}
	return nil
}

func main() {
	player := &Player{url: os.Args[1], user: os.Args[2], pass: os.Args[3]}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var step Step
		if err := json.Unmarshal(lines.Bytes(), &step); err != nil {
			panic(err)
		}
		problem := ""
		for number := 0; number < max(step.Times, 1); number++ {
			if err := player.play(&step); err != nil {
				problem = err.Error()
			}
		}
		answer, _ := json.Marshal(map[string]string{"done": step.Do, "problem": problem})
		fmt.Println(string(answer))
	}
}
